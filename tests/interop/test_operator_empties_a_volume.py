"""A log directory closed, emptied and taken away by what the operator asks, of Apache Kafka's broker and of ours; and
what a broker does that starts with a cordon of a directory that it does not have any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from controller_runtime.identifiers import Endpoint
from kraft_operator.directories import Directories
from kraft_operator.plan.disks.rooms import NoPlace, placed
from kraft_operator.pools import Pools
from kraft_operator.quorum import Addresses, KafkaChanges, KafkaProbe
from support.apache_kafka.java_brokers import JavaBrokers
from support.apache_kafka.java_kafka import require_java
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(300)]
POOLS = Pools()
BROKER, PARTITIONS, RECORDS = 11, 6, 300
STALE = "could not be applied: [cordoned.log.dirs]"


class Nodes:
    """Our controller, and a broker of either kind with two directories."""

    def __init__(self, folder: Path, *, java: bool) -> None:
        self.java = JavaBrokers(folder, controllers=1, brokers=1) if java else None
        self.cluster = self.java.cluster if self.java else Cluster(folder, controllers=1, brokers=1)
        self.broker = self.cluster.nodes[BROKER]
        self.kept, self.left = (str(self.broker.directory / name) for name in ("kept", "left"))
        self.broker.properties["log.dirs"] = f"{self.kept},{self.left}"
        self.at, self.controller = self.broker.endpoint, self.cluster.nodes[1].endpoint

    def start(self) -> None:
        if self.java:
            self.java.start()
        else:
            self.cluster.start()
            self.cluster.wait_until_unfenced()

    def restart_without_the_volume(self) -> None:
        self.broker.properties["log.dirs"] = self.kept
        if self.java:
            self.java.stop(BROKER)
            self.broker.write_properties()
            self.java.boot(BROKER)
            self.java.wait_until_started(BROKER)
        else:
            assert self.broker.stop() == 0
            self.broker.start()
            self.cluster.wait_until_unfenced()

    def log(self) -> str:
        return self.java.java_text(BROKER) if self.java else self.broker.log()

    def look(self) -> Directories | None:
        asked = Addresses({1: self.controller}, {1: None}, {BROKER: self.at}, emptied=frozenset({BROKER}))
        with KafkaProbe() as probe:
            return probe.look(asked)[1].directories.get(BROKER)

    def until(self, what: str, holds: Callable[[Directories], bool]) -> Directories:
        deadline, seen = time.monotonic() + 90, None
        while time.monotonic() < deadline:
            if (seen := self.look()) is not None and holds(seen):
                return seen
            time.sleep(0.3)
        raise AssertionError(f"{what}: {seen}")

    def changes(self) -> KafkaChanges:
        return KafkaChanges((Endpoint(self.controller.host, self.controller.port),), POOLS)

    def alter(self, name: str, value: str) -> str:
        """What the broker says against it; empty if it does it."""
        change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.BROKER, str(BROKER), incremental_configs=[change])
        admin = AdminClient({"bootstrap.servers": str(self.at)})
        try:
            admin.incremental_alter_configs([resource])[resource].result(30)
        except KafkaException as error:
            return str(error)
        return ""


@pytest.fixture(params=["apache-kafka", "runtime"])
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nodes]:
    require_java()
    found = Nodes(tmp_path, java=request.param == "apache-kafka")
    with found.java or found.cluster:
        found.start()
        yield found


def make(nodes: Nodes, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": str(nodes.at)})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(60)


def write(nodes: Nodes) -> None:
    producer = Producer({"bootstrap.servers": str(nodes.at), "acks": "all"})
    for number in range(RECORDS):
        producer.produce("t", str(number), partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def read(nodes: Nodes) -> set[str]:
    consumer = Consumer({"bootstrap.servers": str(nodes.at), "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition("t", index, 0) for index in range(PARTITIONS)])
    found: set[str] = set()
    deadline = time.monotonic() + 60
    while len(found) < RECORDS and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.add((message.value() or b"").decode())
    consumer.close()
    return found


def test_a_directory_is_closed_emptied_and_taken_away(nodes: Nodes) -> None:
    make(nodes, "t")
    write(nodes)
    seen = nodes.until("both hold something", lambda seen: all(each.replicas for each in seen.each))
    assert {each.path for each in seen.each} == {nodes.kept, nodes.left}
    assert all(each.usable > 0 for each in seen.each)
    assert (seen.closed, seen.proves_empty(nodes.left)) == ((), False)
    nodes.changes().cordon(BROKER, nodes.at, 20, [nodes.left])
    seen = nodes.until("it is closed", lambda seen: seen.closed == (nodes.left,))
    moves = placed(seen, [nodes.left], 20)
    assert not isinstance(moves, NoPlace)
    assert set(moves.values()) == {nodes.kept}
    nodes.changes().relocate(BROKER, nodes.at, moves, 20)
    nodes.changes().relocate(BROKER, nodes.at, moves, 20)
    nodes.until("it is empty", lambda seen: seen.proves_empty(nodes.left))
    make(nodes, "later")
    nodes.until("what comes later is elsewhere", lambda seen: sum(len(each.replicas) for each in seen.each) >= 12)
    assert nodes.until("it is empty", lambda seen: seen.proves_empty(nodes.left)).closed == (nodes.left,)
    nodes.restart_without_the_volume()
    if nodes.java:  # ours does without what it does not know
        assert STALE in nodes.log()
        assert "must be present in log.dirs" in nodes.alter("log.cleaner.threads", "2")
    nodes.changes().uncordon(BROKER, 20)
    nodes.until("it is open", lambda seen: seen.closed == ())
    assert nodes.alter("log.cleaner.threads", "2") == ""
    assert len(read(nodes)) == RECORDS
