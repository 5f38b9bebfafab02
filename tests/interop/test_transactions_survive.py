"""A transactional producer keeps working while three brokers of ours are killed in turn. A reader of committed records
sees each committed transaction once and whole, and nothing of an aborted one.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC, PARTITIONS = "transfers", 3
SETTINGS = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "5000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
PATIENCE_S = 90.0


class Transferring:
    """Every transaction writes its number to each partition; every third is aborted."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self.committed: list[int] = []
        self.unknown: list[int] = []
        """The producer did not hear what became of them."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _producer(self) -> Producer:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            made = Producer(
                {
                    "bootstrap.servers": self._servers,
                    "transactional.id": "transfers",
                    "transaction.timeout.ms": 10_000,
                    "message.timeout.ms": 10_000,
                }
            )
            try:
                made.init_transactions(30)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
            else:
                return made

    def _run(self) -> None:
        number, producer = 0, self._producer()
        while not self._stopping.is_set():
            number += 1
            try:
                producer.begin_transaction()
                for partition in range(PARTITIONS):
                    producer.produce(TOPIC, b"%d" % number, partition=partition)
                if number % 3 == 0:
                    producer.flush(20)
                    producer.abort_transaction(20)
                    continue
                self.unknown.append(number)
                producer.commit_transaction(30)
                self.unknown.remove(number)
                self.committed.append(number)
            except KafkaException:
                producer = self._producer()

    def wait_for_more(self, count: int) -> None:
        wanted = len(self.committed) + count
        deadline = time.monotonic() + PATIENCE_S
        while len(self.committed) < wanted:
            assert time.monotonic() < deadline, f"{len(self.committed)} committed, {wanted} are waited for"
            time.sleep(0.05)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def read_committed(servers: str) -> list[list[int]]:
    """By partition, up to its last stable offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    ended: set[int | None] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is None:
            found[message.partition() or 0].append(int(message.value() or b""))
        else:
            ended.add(message.partition())
    consumer.close()
    assert len(ended) == PARTITIONS
    return found


def test_transactions_survive_the_loss_of_each_broker(tmp_path: Path) -> None:
    """TXN-15, TXN-26, TXN-14."""
    with Cluster(tmp_path, controllers=1, brokers=3, extra=SETTINGS) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(PATIENCE_S)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(60)
        transfers = Transferring(cluster.bootstrap_servers)
        try:
            transfers.wait_for_more(5)
            for broker in (11, 12, 13):
                cluster.nodes[broker].kill()
                transfers.wait_for_more(3)
                cluster.nodes[broker].start()
                cluster.wait_until_unfenced(PATIENCE_S)
                transfers.wait_for_more(3)
        finally:
            transfers.stop()
        deadline = time.monotonic() + PATIENCE_S
        wanted = set(transfers.committed)
        while True:
            found = read_committed(cluster.bootstrap_servers)
            if all(wanted <= set(each) for each in found) or time.monotonic() > deadline:
                break
            time.sleep(1)
        for each in found:
            assert len(each) == len(set(each)), "a record is there twice"
            assert wanted <= set(each)
            assert set(each) - wanted <= set(transfers.unknown)
        assert found[0] == found[1] == found[2]
