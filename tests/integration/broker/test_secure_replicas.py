"""Three brokers of ours that show each other who they are keep one partition: by certificates, by SCRAM inside TLS with
sessions that end. Each is killed in turn, nothing that was acknowledged is lost, all logs are the same. And who may not
act for the cluster copies nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from support.clients.acknowledged_writer import TOPIC, Writer, everything
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.replica_logs import records_of, wait_until_same
from support.nodes.strangers import metrics
from support.security.authority import Authority
from support.security.sasl_cluster import added_users
from support.security.secure_brokers import (
    ADMIN,
    MTLS,
    REAUTH_MS,
    SCRAM,
    ClientSettings,
    guard,
    librdkafka_settings,
    secure_nodes,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow]

REFUSED = 'kafka_network_requestmetrics_errorspersec_count{request="Fetch",error="TOPIC_AUTHORIZATION_FAILED"'
OFFSETS = "__consumer_offsets"
SUCCEEDED = "quorate_authentications_succeeded_total"


def made(directory: Path, authority: Authority, way: str) -> Cluster:
    found = Cluster(directory, controllers=1, brokers=3)
    found.nodes[1].properties["broker.session.timeout.ms"] = "3000"
    for broker in found.broker_nodes:
        broker.properties |= {"replica.lag.time.max.ms": "2000", "broker.heartbeat.interval.ms": "500"}
    secure_nodes(found, directory, authority, way)
    return found


def start(cluster: Cluster, way: str) -> None:
    cluster.format(*(added_users() if way == SCRAM else ()))
    for node in cluster.nodes.values():
        node.start()
    cluster.wait_until_unfenced()


def seen(settings: ClientSettings) -> tuple[int, set[int]]:
    """The leader of the partition, and who is in sync, as soon as a broker is asked that knows it."""

    def asked() -> PartitionMetadata | None:
        looking = AdminClient({**settings, "client.id": "looks"})
        return looking.list_topics(TOPIC, 10).topics[TOPIC].partitions.get(0)

    found = eventually("the partition is known", asked)
    return found.leader, set(found.isrs)


def in_sync(settings: ClientSettings, brokers: set[int]) -> None:
    eventually(f"{sorted(brokers)} are in sync", lambda: seen(settings)[1] == brokers)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", [MTLS, SCRAM])
def test_brokers_that_show_who_they_are_lose_nothing_when_each_is_killed(tmp_path: Path, way: str) -> None:
    """FLW-01, ISR-21: as without security; sessions of SCRAM end every two seconds and are begun anew (SAS-31)."""
    authority = Authority("cluster-ca")
    with made(tmp_path, authority, way) as cluster:
        start(cluster, way)
        settings = librdkafka_settings(tmp_path, authority, way, cluster.bootstrap_servers)
        topic = NewTopic(TOPIC, 1, 3, config={"min.insync.replicas": "2"})
        admin = AdminClient(settings)
        admin.create_topics([topic])[TOPIC].result(60)
        everybody = {each.node_id for each in cluster.broker_nodes}
        writer = Writer(cluster.bootstrap_servers, settings)
        try:
            for _ in cluster.broker_nodes:
                in_sync(settings, everybody)
                leader = cluster.nodes[seen(settings)[0]]
                leader.kill()
                writer.wait_for_more(20)
                leader.start()
            in_sync(settings, everybody)
        finally:
            acknowledged = writer.stop()
        assert set(acknowledged) - everything(cluster.bootstrap_servers, len(acknowledged), settings) == set()
        wait_until_same(cluster.broker_nodes, TOPIC)
        eventually("a broker made the topic of groups in its own name", lambda: OFFSETS in admin.list_topics().topics)
        if way == SCRAM:
            leads = cluster.nodes[seen(settings)[0]]
            before = metrics(leads)[SUCCEEDED]
            eventually("followers say again who they are", lambda: metrics(leads)[SUCCEEDED] >= before + 2, 10.0)
            assert REAUTH_MS < 10_000
            in_sync(settings, everybody)


@pytest.mark.timeout(180)
def test_a_follower_that_may_not_act_for_the_cluster_copies_nothing(tmp_path: Path) -> None:
    """A broker whose name only the controllers let act (ACL-20): leaders answer TOPIC_AUTHORIZATION_FAILED as Kafka's
    do, the follower says so once, and is not in sync; with the right it is, without a restart of its own.
    """
    authority = Authority("cluster-ca")
    with made(tmp_path, authority, MTLS) as cluster:
        leads, *_, outcast = cluster.broker_nodes
        others = [f"CN=node-{each}" for each in cluster.nodes if each != outcast.node_id]
        for broker in cluster.broker_nodes:
            broker.properties |= guard([f"CN={ADMIN}", *others])
        start(cluster, MTLS)
        settings = librdkafka_settings(tmp_path, authority, MTLS, str(leads.endpoint))
        admin = AdminClient(settings)
        admin.create_topics([_of_all(cluster, leads)])[TOPIC].result(60)
        in_sync(settings, {each.node_id for each in cluster.broker_nodes if each is not outcast})
        writer = Writer(cluster.bootstrap_servers, settings)
        writer.wait_for_more(20)
        acknowledged = writer.stop()
        assert any(count > 0 for name, count in metrics(leads).items() if name.startswith(REFUSED))
        assert outcast.log().count("TOPIC_AUTHORIZATION_FAILED") == 1
        (copied,) = Path(outcast.properties["log.dirs"]).glob(f"{TOPIC}-0")
        assert records_of(copied) == {}
        assert outcast.node_id not in seen(settings)[1]
        for broker in cluster.broker_nodes:
            if broker is not outcast:
                broker.properties |= guard([f"CN={ADMIN}", *others, f"CN=node-{outcast.node_id}"])
                assert broker.stop() == 0
                broker.start()
                eventually("it serves again", lambda one=broker: one.http("/readyz")[0] == 200)  # type: ignore[misc]
        in_sync(settings, {each.node_id for each in cluster.broker_nodes})
        wait_until_same(cluster.broker_nodes, TOPIC)
        assert everything(cluster.bootstrap_servers, len(acknowledged), settings) >= set(acknowledged)


def _of_all(cluster: Cluster, leads: NodeProcess) -> NewTopic:
    first = [leads.node_id, *(each.node_id for each in cluster.broker_nodes if each is not leads)]
    return NewTopic(TOPIC, 1, replica_assignment=[first], config={"min.insync.replicas": "2"})
