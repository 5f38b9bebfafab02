"""FCH-17, FCH-18: clients that say in which rack they are (`client.rack`) read from the broker in it, although another
one leads: librdkafka's and Java's, at brokers of ours whose `replica.selector.class` is RackAwareReplicaSelector.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.mixed_cluster import read_by_librdkafka
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC = "stock"
RECORDS = 20
LEADER, NEAR = 11, 12


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("racks"), controllers=1, brokers=2) as made:
        for broker, rack in zip(made.broker_nodes, "ab", strict=True):
            broker.properties |= {
                "broker.rack": rack,
                "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
                "quorate.log.level": "debug",
                "offsets.topic.replication.factor": "1",
            }
        made.start()
        made.wait_until_unfenced()
        admin = AdminClient({"bootstrap.servers": made.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[LEADER, NEAR]])])[TOPIC].result(60)
        producer = Producer({"bootstrap.servers": made.bootstrap_servers, "acks": "all"})
        for number in range(RECORDS):
            producer.produce(TOPIC, b"%d" % number)
        assert producer.flush(60) == 0
        yield made


def fetches_of(broker: NodeProcess, client_id: str) -> int:
    lines = broker.log().splitlines()
    return sum("FetchRequest" in line and f"from {client_id} " in line for line in lines)


def served_by(cluster: Cluster, client_id: str) -> dict[int, bool]:
    return {node.node_id: fetches_of(node, client_id) > 0 for node in cluster.broker_nodes}


@pytest.mark.parametrize(("rack", "nodes"), [("b", {LEADER: True, NEAR: True}), ("a", {LEADER: True, NEAR: False})])
def test_librdkafka_reads_from_the_broker_in_its_rack(cluster: Cluster, rack: str, nodes: dict[int, bool]) -> None:
    """The leader is asked first; it sends away who is in another broker's rack."""
    name = f"librdkafka-{rack}"
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.rack": rack, "client.id": name}
    assert read_by_librdkafka(settings, TOPIC, RECORDS) == [b"%d" % number for number in range(RECORDS)]
    eventually("it is seen", lambda: served_by(cluster, name) == nodes, 10)


def test_javas_consumer_reads_from_the_broker_in_its_rack(cluster: Cluster) -> None:
    require_java()
    said = run_tool(
        "kafka-console-consumer", "--bootstrap-server", cluster.bootstrap_servers, "--topic", TOPIC,
        "--partition", "0", "--offset", "earliest", "--max-messages", str(RECORDS), "--timeout-ms", "60000",
        "--command-property", "client.rack=b", "--command-property", "client.id=java-b", timeout_s=120,
    )  # fmt: skip
    assert said.out.split() == [str(number) for number in range(RECORDS)], said
    eventually("it is seen", lambda: served_by(cluster, "java-b") == {LEADER: True, NEAR: True}, 10)
