"""Our broker beside Apache Kafka 4.3.1: registered with its controller, used by its tools, its disk taken over by its
broker and back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.storage.small_files import encode_partition_metadata
from support.apache_kafka.java_kafka import JavaNode, require_java, run_tool
from support.apache_kafka.kafka_python import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicPartition,
)
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

BROKER = 11
SECONDS = 240.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Java's controller, our broker with two log directories."""
    require_java()
    with Cluster(tmp_path_factory.mktemp("mixed"), controllers=1, brokers=1) as made:
        controller, broker = made.nodes[1], made.nodes[BROKER]
        broker.properties["log.dirs"] = f"{broker.directory}/disk0,{broker.directory}/disk1"
        broker.properties["offsets.topic.replication.factor"] = "1"
        controller.properties.pop("quorate.http.listener")
        made.format()
        forget(broker, 0)
        controller.write_properties()
        java = JavaNode(controller.properties_file, controller.directory / "java.txt")
        try:
            java.wait_for_log("Kafka Server started", timeout_s=SECONDS)
            broker.start()
            made.wait_until_unfenced(SECONDS)
            yield made
        finally:
            java.kill()


def forget(broker: NodeProcess, index: int) -> None:
    """A partition on its disk that no cluster knows."""
    directory = broker.directory / "disk0" / f"forgotten-{index}"
    directory.mkdir()
    (directory / "partition.metadata").write_bytes(encode_partition_metadata(Uuid.of(7, 7)))
    (directory / "00000000000000000000.log").write_bytes(b"")


def strays(broker: NodeProcess) -> list[str]:
    """The partitions that were set aside, by their names before."""
    names = [path.name for path in (broker.directory / "disk0").iterdir() if path.name.endswith("-stray")]
    parsed = [re.fullmatch(r"(forgotten-\d)\.[0-9a-f]{32}-stray", name) for name in names]
    return sorted(match[1] for match in parsed if match is not None)


def produce(cluster: Cluster, topic: str, values: list[bytes], partitions: int) -> None:
    producer = KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, enable_idempotence=True, request_timeout_ms=60_000
    )
    for number, value in enumerate(values):
        producer.send(topic, value, partition=number % partitions)
    producer.flush(120)
    producer.close()


def read(cluster: Cluster, topic: str, count: int, partitions: int) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None, enable_auto_commit=False)
    wanted = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign(wanted)
    consumer.seek_to_beginning(*wanted)
    found: list[bytes] = []

    def enough() -> bool:
        for records in consumer.poll(500).values():
            found.extend(record.value for record in records)
        return len(found) >= count

    eventually(f"{count} records", enough)
    consumer.close()
    return sorted(found)


def test_our_broker_serves_under_javas_controller(cluster: Cluster) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic("orders", 4, 1)])
    admin.close()
    values = [b"%03d" % number for number in range(100)]
    produce(cluster, "orders", values, 4)
    assert read(cluster, "orders", 100, 4) == values


def test_javas_tools_work_against_our_broker(cluster: Cluster) -> None:
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    made = run_tool("kafka-topics", *server, "--create", "--topic", "tools", "--partitions", "2", timeout_s=SECONDS)
    assert (made.rc, made.out) == (0, "Created topic tools.\n"), made
    shown = run_tool("kafka-topics", *server, "--describe", "--topic", "tools", timeout_s=SECONDS)
    lines = shown.out.splitlines()
    assert lines[0].startswith("Topic: tools\tTopicId: ")
    assert lines[0].endswith("\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: min.insync.replicas=1")
    assert lines[1:] == [
        f"\tTopic: tools\tPartition: {n}\tLeader: 11\tReplicas: 11\tIsr: 11\tElr: \tLastKnownElr: " for n in (0, 1)
    ]
    sent = run_tool("kafka-console-producer", *server, "--topic", "tools", stdin="one\ntwo\nthree\n", timeout_s=SECONDS)
    assert sent.rc == 0, sent
    ends = run_tool("kafka-get-offsets", *server, "--topic", "tools", timeout_s=SECONDS)
    assert sum(int(line.rpartition(":")[2]) for line in ends.out.split()) == 3
    gone = run_tool("kafka-topics", *server, "--delete", "--topic", "tools", timeout_s=SECONDS)
    assert (gone.rc, gone.out) == (0, ""), gone


def test_javas_broker_takes_over_our_disks_and_gives_them_back(cluster: Cluster, tmp_path: Path) -> None:
    """LOG-25, DIR-08: also what either sets aside because no topic knows it."""
    ours = cluster.nodes[BROKER]
    values = [b"%03d" % number for number in range(150)]
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic("handover", 2, 1)])
    admin.close()
    produce(cluster, "handover", values[:50], 2)
    assert ours.stop() == 0
    assert strays(ours) == ["forgotten-0"]
    forget(ours, 1)

    http = ours.properties.pop("quorate.http.listener")
    ours.write_properties()
    java = JavaNode(ours.properties_file, tmp_path / "java.txt")
    try:
        java.wait_for_log("Kafka Server started", timeout_s=SECONDS)
        assert read(cluster, "handover", 50, 2) == values[:50]
        produce(cluster, "handover", values[50:100], 2)
    finally:
        assert java.stop(SECONDS) in (0, 143)

    assert strays(ours) == ["forgotten-0", "forgotten-1"], "Java kept what we set aside, and names it alike"
    forget(ours, 2)
    ours.properties["quorate.http.listener"] = http
    ours.start()
    cluster.wait_until_unfenced(SECONDS)
    assert strays(ours) == ["forgotten-0", "forgotten-1", "forgotten-2"]
    assert read(cluster, "handover", 100, 2) == values[:100]
    produce(cluster, "handover", values[100:], 2)
    assert read(cluster, "handover", 150, 2) == values
