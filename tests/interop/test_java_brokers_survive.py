"""Three brokers of Apache Kafka on three controllers of ours: each of the six is killed or stopped, in a sampled order,
under a producer that wants every acknowledgement, and nothing acknowledged is lost (INT-01, INT-05, REP-07).

Apache Kafka's VerifiableProducer and VerifiableConsumer judge. A soak takes every node both ways, three times over.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from support.apache_kafka.java_brokers import JavaBrokers
from support.apache_kafka.verifiable_clients import Verifiable
from support.sampling import run_seed

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC: Final = "ledger"
IN_A_SOAK: Final = 3
MORE: Final = 25
"""Records that have to be acknowledged while a node is away, and again when it is back."""


@pytest.fixture
def nodes(java: str, tmp_path: Path) -> Iterator[JavaBrokers]:
    with JavaBrokers(tmp_path, controllers=3) as made:
        made.start()
        yield made


def ends(nodes: JavaBrokers) -> list[tuple[int, str]]:
    """Which node goes next, and how. At least one broker and one controller are killed."""
    dice = random.Random(run_seed())
    everyone = [*nodes.brokers, *nodes.controllers]
    if os.environ.get("QUORATE_SOAK"):
        every = [(node_id, how) for node_id in everyone for how in ("kill", "stop")] * IN_A_SOAK
        return dice.sample(every, len(every))
    killed = {dice.choice(nodes.brokers), dice.choice(nodes.controllers)}
    chosen = [(node_id, "kill" if node_id in killed else dice.choice(("kill", "stop"))) for node_id in everyone]
    return dice.sample(chosen, len(chosen))


@pytest.mark.timeout(1800)
def test_each_of_six_nodes_may_go_and_nothing_acknowledged_is_lost(nodes: JavaBrokers, tmp_path: Path) -> None:
    nodes.tool("kafka-topics", "--create", "--topic", TOPIC, "--partitions", "3", "--replication-factor", "3",
               "--config", "min.insync.replicas=2")  # fmt: skip
    with Verifiable(tmp_path, nodes.servers, TOPIC) as clients:
        clients.wait_for_more(MORE)
        for node_id, how in ends(nodes):
            print(f"{how} {node_id}")
            (nodes.kill if how == "kill" else nodes.stop)(node_id)
            clients.wait_for_more(MORE)
            nodes.boot(node_id)
            if node_id in nodes.controllers:
                nodes.wait_until_voters_follow()
            else:
                nodes.wait_until_started(node_id)
                nodes.wait_until_in_sync(TOPIC)
            clients.wait_for_more(MORE)
        lost = clients.lost()
        pause, count = clients.longest_pause_ms(), len(clients.acknowledged())
        print(f"{count} records were acknowledged, the longest pause was {pause} ms")
        assert lost == set()
        assert clients.failed() == []
    assert nodes.refused() == []
