"""Groups of the consumer protocol (KIP-848) on our brokers: Java's consumer and librdkafka with
`group.protocol=consumer`, shown by Java's own tools.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer

from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import KafkaAdminClient, KafkaProducer, NewTopic
from support.nodes.processes import Cluster, eventually
from support.nodes.strangers import ask

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

TOPIC, PARTITIONS, RECORDS = "shared", 6, 120
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
}
PATIENCE_S = 90.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("consumers"), controllers=1, brokers=2, extra=SETTINGS) as made:
        made.start()
        made.wait_until_unfenced(PATIENCE_S)
        admin = KafkaAdminClient(bootstrap_servers=made.bootstrap_servers)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=made.bootstrap_servers)
        for number in range(RECORDS):
            producer.send(TOPIC, b"%d" % number, partition=number % PARTITIONS)
        producer.flush(60)
        producer.close()
        yield made


def consumer(cluster: Cluster, group: str, topic: str = TOPIC, **more: Any) -> Consumer:
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": group,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    made = Consumer(settings | {name.replace("_", "."): value for name, value in more.items()})
    made.subscribe([topic])
    return made


class Reading:
    """Members of librdkafka, and what they have read."""

    def __init__(self, *members: Consumer) -> None:
        self.members = list(members)
        self.seen: list[int] = []

    def step(self) -> None:
        for each in self.members:
            message = each.poll(0.02)
            if message is not None and message.error() is None:
                self.seen.append(int(message.value() or b""))

    def shares(self, *sizes: int) -> bool:
        """They own so many partitions, and none is owned twice."""
        self.step()
        owned = [(each.topic, each.partition) for member in self.members for each in member.assignment()]
        found = sorted(len(each.assignment()) for each in self.members)
        return found == sorted(sizes) and len(set(owned)) == len(owned)

    def close(self) -> None:
        for each in self.members:
            each.close()


def test_java_s_consumer_reads_and_java_s_tools_show_its_group(cluster: Cluster) -> None:
    """CGP-02, CGP-19"""
    require_java()
    read = run_tool(
        "kafka-console-consumer", "--bootstrap-server", cluster.bootstrap_servers, "--topic", TOPIC, "--group", "java",
        "--command-property", "group.protocol=consumer", "--from-beginning", "--max-messages", str(RECORDS),
        "--timeout-ms", "60000", timeout_s=PATIENCE_S,
    )  # fmt: skip
    assert set(read.out.split()) >= set(map(str, range(RECORDS))), read
    listed = run_tool("kafka-groups", "--bootstrap-server", cluster.bootstrap_servers, "--list")
    assert ["java", "Consumer", "consumer"] in [line.split() for line in listed.out.splitlines()], listed


def test_members_of_librdkafka_share_come_and_go(cluster: Cluster) -> None:
    """CGP-05, CGP-08, CGP-13: nothing is owned twice on the way, and each record is read once."""
    reading = Reading(consumer(cluster, "rd"))
    eventually("one has all", lambda: reading.shares(PARTITIONS), PATIENCE_S)
    eventually("all is read", lambda: reading.shares(PARTITIONS) and len(reading.seen) == RECORDS, PATIENCE_S)
    reading.members[0].commit(asynchronous=False)
    reading.members.append(consumer(cluster, "rd"))
    eventually("two share", lambda: reading.shares(3, 3), PATIENCE_S)
    reading.members.append(consumer(cluster, "rd"))
    eventually("three share", lambda: reading.shares(2, 2, 2), PATIENCE_S)
    reading.members.pop(0).close()
    eventually("two have all again", lambda: reading.shares(3, 3), PATIENCE_S)
    reading.close()
    assert sorted(reading.seen) == list(range(RECORDS))


def test_members_outlive_the_coordinator(cluster: Cluster) -> None:
    """CGP-20: after kill -9 they go on with what they had, a static one that is back, too.

    There is another broker: while none is unfenced, Metadata names none, and librdkafka never comes back from that.
    """
    reading = Reading(consumer(cluster, "kept", group_instance_id="one"), consumer(cluster, "kept"))
    eventually("two share", lambda: reading.shares(3, 3), PATIENCE_S)
    before = [sorted(each.partition for each in member.assignment()) for member in reading.members]
    found = ask(cluster.nodes[11], FindCoordinatorRequest(coordinator_keys=("kept",)), 6)
    assert isinstance(found, FindCoordinatorResponse)
    broker = cluster.nodes[found.coordinators[0].node_id]
    broker.kill()
    broker.start()
    cluster.wait_until_unfenced(PATIENCE_S)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    for number in range(PARTITIONS):
        producer.send(TOPIC, b"%d" % (RECORDS + number), partition=number)
    producer.flush(60)
    producer.close()
    wanted = set(range(RECORDS, RECORDS + PARTITIONS))
    eventually("they read on", lambda: reading.shares(3, 3) and wanted <= set(reading.seen), PATIENCE_S)
    assert [sorted(each.partition for each in member.assignment()) for member in reading.members] == before
    reading.members.pop(0).close()
    reading.members.insert(0, consumer(cluster, "kept", group_instance_id="one"))
    eventually("it is back", lambda: reading.shares(3, 3), PATIENCE_S)
    assert [sorted(each.partition for each in member.assignment()) for member in reading.members] == before
    reading.close()


def test_a_group_changes_its_protocol_while_its_members_live(cluster: Cluster) -> None:
    """CGP-16, CGP-17, CGP-18: members of librdkafka go over one by one, and back."""
    reading = Reading(*(consumer(cluster, "over", group_protocol="classic") for _ in range(2)))
    eventually("two share", lambda: reading.shares(3, 3), PATIENCE_S)
    reading.members.append(consumer(cluster, "over"))
    eventually("a mixed group", lambda: reading.shares(2, 2, 2), PATIENCE_S)
    reading.members.pop(0).close()
    reading.members.append(consumer(cluster, "over"))
    eventually("the second one", lambda: reading.shares(2, 2, 2), PATIENCE_S)
    reading.members.pop(0).close()
    eventually("all are of the consumer protocol", lambda: reading.shares(3, 3), PATIENCE_S)
    reading.members.append(consumer(cluster, "over", group_protocol="classic"))
    eventually("mixed again", lambda: reading.shares(2, 2, 2), PATIENCE_S)
    for _ in range(2):
        reading.members.pop(0).close()
    eventually("the classic one has all", lambda: reading.shares(PARTITIONS), PATIENCE_S)
    reading.close()


def test_a_regular_expression_is_matched_by_the_coordinator(cluster: Cluster) -> None:
    """CGP-14: a topic that comes later is read, too."""
    reading = Reading(consumer(cluster, "matching", topic="^sha.*"))
    eventually("it has the topic", lambda: reading.shares(PARTITIONS), PATIENCE_S)
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic("shapes", 2, 1)])
    admin.close()
    eventually("and the new one", lambda: reading.shares(PARTITIONS + 2), PATIENCE_S)
    reading.close()


def kraft(*arguments: str) -> str:
    """What one of our tools says."""
    command = [sys.executable, "-m", "controller_runtime.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_our_tools_show_the_group(cluster: Cluster) -> None:
    """CGP-19: its type and state, its members with their epochs, its offsets; and delete it."""
    reading = Reading(consumer(cluster, "shown"))
    eventually("it has all", lambda: reading.shares(PARTITIONS) and len(reading.seen) >= RECORDS, PATIENCE_S)
    reading.members[0].commit(asynchronous=False)
    about = ("--bootstrap-server", cluster.bootstrap_servers)
    listed = kraft("groups", *about, "--list")
    assert ["shown", "Consumer", "consumer"] in [line.split() for line in listed.splitlines()], listed
    members = kraft("consumer-groups", *about, "--describe", "--group", "shown", "--members", "--verbose")
    assert "rdkafka" in members, members
    assert "uniform" in kraft("consumer-groups", *about, "--describe", "--group", "shown", "--state")
    offsets = kraft("consumer-groups", *about, "--describe", "--group", "shown")
    assert sum(TOPIC in line for line in offsets.splitlines()) == PARTITIONS, offsets
    reading.close()
    assert "successful" in kraft("consumer-groups", *about, "--delete", "--group", "shown")
    assert "shown" not in kraft("groups", *about, "--list")
