"""Transactions whose coordinator is a broker of ours, then one of Java's, then ours again, and that are open while it
changes: what was committed is read, once and in order, what was aborted is not, and both have the same log.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from controller_runtime.coordinator.coordinator import partition_for
from interop.test_consumer_groups_change_hands import create
from interop.test_replicas_of_ours import BOTH, JAVAS, OURS, Mixed, described, isr, log_of, mixed, wait_until_serving
from support.nodes.processes import NodeProcess, eventually

__all__ = ["mixed"]

pytestmark = [pytest.mark.interop, pytest.mark.slow]

STATES, TOPIC = "__transaction_state", "ledger"
SECONDS = 240.0
OF_JAVA = 50
"""Partitions: Java counts them when it starts, before there are any, and serves no other number then."""
ID = "d"


class Writer:
    """A transactional producer of librdkafka, and what a reader of committed records has to see."""

    def __init__(self, servers: str) -> None:
        self.committed: list[bytes] = []
        self._open: list[bytes] = []
        self._producer = Producer({
            "bootstrap.servers": servers, "transactional.id": ID, "transaction.timeout.ms": 600_000,
            "message.timeout.ms": 240_000, "linger.ms": 0,
        })  # fmt: skip
        self._until_done(partial(self._producer.init_transactions, SECONDS))

    def begin(self, *values: bytes) -> None:
        self._producer.begin_transaction()
        self.write(*values)

    def write(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(TOPIC, value)
        assert self._producer.flush(SECONDS) == 0
        self._open += values

    def commit(self) -> None:
        self._until_done(partial(self._producer.commit_transaction, SECONDS))
        self.committed += self._open
        self._open = []

    def abort(self) -> None:
        self._until_done(partial(self._producer.abort_transaction, SECONDS))
        self._open = []

    def _until_done(self, act: Callable[[], None]) -> None:
        def done() -> bool:
            try:
                act()
            except KafkaException as error:
                if error.args[0].retriable():
                    return False
                raise
            return True

        eventually("it is done", done, SECONDS)


def read_committed(servers: str) -> list[bytes]:
    """To the end of the partition."""
    reader = Consumer({
        "bootstrap.servers": servers, "group.id": "nobody", "isolation.level": "read_committed",
        "auto.offset.reset": "earliest", "enable.partition.eof": True, "enable.auto.commit": False,
    })  # fmt: skip
    reader.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[bytes] = []

    def at_the_end() -> bool:
        for message in reader.consume(100, 1.0):
            error = message.error()
            if error is None:
                found.append(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                return True
        return False

    try:
        eventually("the end", at_the_end, SECONDS)
    finally:
        reader.close()
    return found


def leads(broker: NodeProcess) -> Callable[[], bool]:
    """Whether it leads both."""

    def both() -> bool:
        found = [described(broker, name) for name in (STATES, TOPIC)]
        return all(each is not None and each.leader_id == broker.node_id for each in found)

    return both


def test_what_is_open_is_ended_by_the_other_kind(mixed: Mixed) -> None:
    """TXN-21, TXN-26: a transaction that is open outlives its coordinator, of either kind."""
    assert partition_for(ID, OF_JAVA) == 0
    cluster = mixed.cluster
    ours, javas = cluster.nodes[OURS], cluster.nodes[JAVAS]
    create(ours, STATES, OF_JAVA, cleanup_policy="compact", min_insync_replicas="1")
    create(ours, TOPIC, 1, min_insync_replicas="1")

    def are_alike() -> None:
        for name in (STATES, TOPIC):
            eventually(f"{name} is the same", lambda name=name: log_of(ours, name) == log_of(javas, name), SECONDS)  # type: ignore[misc]

    writer = Writer(cluster.bootstrap_servers)
    writer.begin(b"ours 1", b"ours 2")
    writer.commit()
    writer.begin(b"aborted by ours")
    writer.abort()
    writer.begin(b"begun with ours")
    eventually("both are in sync", lambda: isr(ours, TOPIC) == isr(ours, STATES) == BOTH, SECONDS)
    are_alike()
    ours.kill()
    eventually("Java leads", leads(javas), SECONDS)
    writer.write(b"gone on with Java")
    writer.commit()
    assert read_committed(str(javas.endpoint)) == writer.committed

    ours.start()
    wait_until_serving(ours)
    eventually("ours follows", lambda: isr(javas, TOPIC) == isr(javas, STATES) == BOTH, SECONDS)
    writer.begin(b"begun with Java, aborted with ours")
    are_alike()
    mixed.java[JAVAS].kill()
    eventually("ours leads", leads(ours), SECONDS)
    writer.write(b"gone on with ours, aborted")
    writer.abort()
    writer.begin(b"the last")
    writer.commit()
    assert read_committed(str(ours.endpoint)) == writer.committed
