"""A Kafka client that nobody here wrote keeps writing while processes are killed; what was acknowledged is there
afterwards.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.interop

TOPIC = "ledger"


class Writer:
    """Writes one record after another, each acknowledged before it counts, until it is told to stop."""

    def __init__(self, servers: str) -> None:
        self.acknowledged: list[int] = []
        self._stop = threading.Event()
        self._servers = servers
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "acks": "all", "message.timeout.ms": 120_000})
        number = 0
        while not self._stop.is_set():
            producer.produce(TOPIC, b"%d" % number, on_delivery=self._delivered)
            producer.flush(150)
            number += 1
            time.sleep(0.01)

    def _delivered(self, error: object, message: Any) -> None:
        assert error is None, error
        self.acknowledged.append(int(message.value()))

    def stop(self) -> list[int]:
        self._stop.set()
        self._thread.join(150)
        assert not self._thread.is_alive()
        return self.acknowledged

    def wait_for_more(self, count: int) -> None:
        target = len(self.acknowledged) + count
        eventually(f"{count} more records are acknowledged", lambda: len(self.acknowledged) >= target)


def everything(servers: str, count: int) -> set[int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: set[int] = set()
    deadline = time.monotonic() + 90
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None, message.error()
            found.add(int(message.value()))
    consumer.close()
    return found


def create_topic(servers: str, name: str = TOPIC) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)


def test_no_acknowledged_record_is_lost_while_controllers_and_the_broker_are_killed(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topic(cluster.bootstrap_servers)
        writer = Writer(cluster.bootstrap_servers)
        try:
            writer.wait_for_more(20)
            old = cluster.wait_for_leader()
            old.kill()
            writer.wait_for_more(20)
            cluster.wait_for_leader(other_than=old.node_id)
            create_topic(cluster.bootstrap_servers, "made-after-the-failover")
            old.start()
            broker: NodeProcess = cluster.nodes[11]
            broker.kill()
            broker.start()
            writer.wait_for_more(20)
        finally:
            acknowledged = writer.stop()
        assert len(acknowledged) >= 60
        assert set(acknowledged) - everything(cluster.bootstrap_servers, len(acknowledged)) == set()
