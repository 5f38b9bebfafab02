"""franz-go, sarama, segmentio/kafka-go and kafkajs against our brokers, as programs of their own languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.clients.client_story import CODECS, PARTITIONS, Sent, records, running_cluster
from support.clients.programs import CLIENTS, ClientProgram, client
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    offsets = {"offsets.topic.num.partitions": "4", "offsets.topic.replication.factor": "2"}
    offsets |= {"transaction.state.log.num.partitions": "4", "transaction.state.log.replication.factor": "2"}
    yield from running_cluster(
        tmp_path_factory.mktemp("clients"), **offsets, **{"group.initial.rebalance.delay.ms": "0"}
    )


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_client_writes_it_reads_alone_and_as_a_group(cluster: Cluster, name: str) -> None:
    one = client(name, cluster.bootstrap_servers)
    one.step("create", name, str(PARTITIONS), "2")
    sent = written(one, name)
    assert one.read(name, len(sent)) == sent
    assert one.group(name, f"{name}-group", len(sent)) == sent
    late = [Sent(0, b"late", b"one"), Sent(3, b"late", b"two")]
    one.step("write", name, "none", "false", given=late)
    resumed = one.group(name, f"{name}-group", len(late), "late")
    assert set(late) <= set(resumed)
    assert len(resumed) < len(sent), "it went on where it had committed"
    one.step("delete", name)


def written(one: ClientProgram, topic: str) -> list[Sent]:
    """With every codec and both kinds of producers that this client has."""
    sent = []
    for codec in CODECS:
        for idempotent in (False, True):
            given = records(codec, idempotent=idempotent)
            if one.step("write", topic, codec, str(idempotent).lower(), given=given) is not None:
                sent += given
    assert len(sent) >= 3 * len(records("none", idempotent=False)), "three codecs at least"
    return sorted(sent)


@pytest.mark.parametrize("name", [one for one in CLIENTS if one != "segmentio"])
def test_readers_of_committed_records_see_no_aborted_one(cluster: Cluster, name: str) -> None:
    one = client(name, cluster.bootstrap_servers)
    topic = f"{name}-transactions"
    one.step("create", topic, str(PARTITIONS), "2")
    given = records("none", idempotent=True)
    assert one.step("transact", topic, f"{name}-id", given=given) == len(given)
    assert one.read(topic, len(given)) == sorted(given), "both are in the log"
    assert one.read(topic, len(given) // 2, "read_committed") == sorted(given[: len(given) // 2])
