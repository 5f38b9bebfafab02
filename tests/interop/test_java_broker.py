"""INT-01: an unmodified Apache Kafka 4.3.1 broker registers with our controllers, serves clients, stops under control
and returns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.apache_kafka.java_kafka import JavaNode, require_java, run_tool
from support.apache_kafka.kafka_python import KafkaConsumer, KafkaProducer, TopicPartition
from support.nodes.processes import Cluster, eventually

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

JAVA = 11
SECONDS = 180.0
SLOW_TOOL = 180.0
"""A JVM on a busy machine takes its time."""


class WithJavaBroker:
    """A controller of ours and a broker of Java's."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.broker: JavaNode | None = None
        self.starts = 0

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    def boot(self) -> JavaNode:
        node = self.cluster.nodes[JAVA]
        self.starts += 1
        self.broker = JavaNode(node.properties_file, node.directory / "java.log")
        return self.broker

    def wait_until_unfenced(self) -> None:
        def there() -> bool:
            async def ask() -> bool:
                async with self.cluster.admin() as admin:
                    quorum = await admin.describe_quorum()
                    return any(observer.replica_id == JAVA for observer in quorum.observers)

            log = self.cluster.nodes[JAVA].directory / "java.log"
            said = log.read_text(errors="replace")
            return said.count("Transition from STARTING to STARTED") == self.starts and asyncio.run(ask())

        eventually("the Java broker runs", there, SECONDS)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[WithJavaBroker]:
    require_java()
    with Cluster(tmp_path, controllers=1, brokers=1) as ours:
        mixed = WithJavaBroker(ours)
        try:
            ours.format()
            ours.nodes[1].start()
            ours.wait_for_leader(seconds=SECONDS)
            mixed.boot()
            yield mixed
        finally:
            if mixed.broker is not None:
                mixed.broker.kill()


def write(cluster: WithJavaBroker, topic: str, values: list[bytes]) -> None:
    producer = KafkaProducer(
        bootstrap_servers=cluster.servers, acks="all", enable_idempotence=True, request_timeout_ms=60_000
    )
    futures = [producer.send(topic, value, partition=number % 3) for number, value in enumerate(values)]
    producer.flush(90)
    assert all(future.get(30).offset >= 0 for future in futures)
    producer.close()


def read(cluster: WithJavaBroker, topic: str, count: int) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=cluster.servers, group_id=None, enable_auto_commit=False)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    found: list[bytes] = []
    deadline = time.monotonic() + SECONDS
    while len(found) < count and time.monotonic() < deadline:
        found += [each.value for batch in consumer.poll(1000).values() for each in batch]
    consumer.close()
    return sorted(found)


@pytest.mark.timeout(900)
def test_a_java_broker_lives_under_our_controllers(cluster: WithJavaBroker) -> None:
    cluster.wait_until_unfenced()
    values = [b"%04d" % number for number in range(300)]

    made = run_tool("kafka-topics", "--bootstrap-server", cluster.servers, "--create", "--topic", "story",
                    "--partitions", "3", "--replication-factor", "1", "--config", "retention.ms=86400000",
                    timeout_s=SLOW_TOOL)  # fmt: skip
    assert made.rc == 0, made
    write(cluster, "story", values)
    assert read(cluster, "story", len(values)) == values

    # It stops under control: the controller lets it go when it leads nothing more.
    assert cluster.broker is not None
    assert cluster.broker.stop(SECONDS) in (0, 143)
    log = cluster.cluster.nodes[JAVA].directory / "java.log"
    said = log.read_text(errors="replace")
    assert "PENDING_CONTROLLED_SHUTDOWN to SHUTTING_DOWN" in said or "controlled shutdown" in said.lower()

    # It returns at once, leads again, and has everything.
    cluster.boot()
    cluster.wait_until_unfenced()
    assert read(cluster, "story", len(values)) == values

    described = run_tool(
        "kafka-topics", "--bootstrap-server", cluster.servers, "--describe", "--topic", "story", timeout_s=SLOW_TOOL
    )
    assert described.out.count("Leader: 11") == 3, described
    assert "retention.ms=86400000" in described.out
    assert " FATAL " not in said
