"""Who works while things happen, all of librdkafka: one who writes orders into a queue, and bankers who carry them out.

A banker is a member of a group that reads the queue. A transaction of his takes from one account and gives to another
what each order says, and commits how far he has read: so each order is carried out once, whatever happens. After an
error that is not passing he begins anew, as everybody does who follows the books.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.fault_histories.verdict import Found, amount_of

PARTITIONS: Final = 3
PATIENCE_S: Final = 120.0
_PATIENT: Final[Mapping[str, int]] = {
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": 5_000,
    "log_level": 1,  # that brokers go is no news here
}
_TRANSACTION_MS: Final = 8_000
_AT_ONCE: Final = 50
_PAUSE_S: Final = 0.01


def make_topics(servers: str, *names: str) -> None:
    """Tried again while nobody is there who could."""
    deadline = time.monotonic() + PATIENCE_S
    for name in names:
        while True:
            admin = AdminClient({"bootstrap.servers": servers, **_PATIENT})
            try:
                admin.create_topics([NewTopic(name, PARTITIONS, 3)], operation_timeout=20)[name].result(30)
            except KafkaException as error:
                if "already exists" in str(error):
                    break
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                break


class Writer:
    """Orders 0, 1, 2, … until it is stopped; of each partition in this order, by an idempotent producer."""

    def __init__(self, servers: str, queue: str) -> None:
        self.acknowledged: list[int] = []
        self.failed: list[str] = []
        self.sent = 0
        self._queue = queue
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 2,
                "request.timeout.ms": 5_000,
                **_PATIENT,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            with suppress(BufferError):
                self._producer.produce(
                    self._queue, b"%d" % self.sent, partition=self.sent % PARTITIONS, on_delivery=self._delivered
                )
                self.sent += 1
            self._producer.poll(_PAUSE_S)

    def _delivered(self, error: object, message: Message) -> None:
        if error is None:
            self.acknowledged.append(int(message.value() or b""))
        else:
            self.failed.append(str(error))

    def stop(self) -> None:
        """All that was sent is acknowledged, or has failed."""
        self._stopping.set()
        self._thread.join(PATIENCE_S)
        if left := self._producer.flush(PATIENCE_S):
            self.failed.append(f"{left} orders were neither acknowledged nor refused within {PATIENCE_S:.0f} s")


class Banker:
    def __init__(self, servers: str, queue: str, accounts: str, name: str, protocol: str) -> None:
        self.begun_anew = 0
        self.carried_out = 0
        """As far as he knows."""
        self._servers, self._queue, self._accounts, self._name = servers, queue, accounts, f"{accounts} {name}"
        self._protocol = protocol
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            reader = self._reader()
            try:
                self._work(reader)
            except KafkaException:
                self.begun_anew += 1
                time.sleep(0.1)
            finally:
                reader.close()

    def _reader(self) -> Consumer:
        settings: dict[str, Any] = {
            "bootstrap.servers": self._servers,
            "group.id": self._accounts,
            "group.protocol": self._protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            **_PATIENT,
        }
        if self._protocol == "classic":
            settings |= {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
        return Consumer(settings)

    def _work(self, reader: Consumer) -> None:
        writer = Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": self._name,
                "transaction.timeout.ms": _TRANSACTION_MS,
                **_PATIENT,
            }
        )
        writer.init_transactions(20)
        reader.subscribe([self._queue])
        while not self._stopping.is_set():
            orders = [each for each in reader.consume(_AT_ONCE, 0.3) if each.error() is None]
            if orders:
                self._carry_out(orders, reader, writer)

    def _carry_out(self, orders: list[Message], reader: Consumer, writer: Producer) -> None:
        writer.begin_transaction()
        ends: dict[int, int] = {}
        for order in orders:
            number, partition = int(order.value() or b""), order.partition() or 0
            for account, amount in ((number, -amount_of(number)), (number + 1, amount_of(number))):
                writer.produce(self._accounts, b"%d %d" % (number, amount), partition=account % PARTITIONS)
            ends[partition] = (order.offset() or 0) + 1
        read = [TopicPartition(self._queue, partition, end) for partition, end in ends.items()]
        writer.send_offsets_to_transaction(read, reader.consumer_group_metadata(), 15)
        writer.commit_transaction(15)
        self.carried_out += len(orders)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"{self._name} does not end"


class Auditor:
    """Reads what there is, further and further."""

    def __init__(self, servers: str, queue: str, accounts: str) -> None:
        self._queue, self._accounts = _Reader(servers, queue), _Reader(servers, accounts)

    def wait_until_done(self, wanted: int) -> None:
        """So many orders are in the queue, and as many entries of theirs are to be seen as there should be; or patience
        has an end, and what is missing shows.
        """
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self._queue.go_on()
            self._accounts.go_on()
            if self._queue.count >= wanted and self._accounts.count >= 2 * self._queue.count:
                return

    def all_of_it(self) -> Found:
        """Up to the end of each log, of what was not given up as well."""
        for each in (self._queue, self._accounts):
            each.to_the_end()
        queue = [[int(value) for value in partition] for partition in self._queue.found]
        return Found(queue, [[_entry(value) for value in partition] for partition in self._accounts.found])

    def close(self) -> None:
        self._queue.close()
        self._accounts.close()


def _entry(value: bytes) -> tuple[int, int]:
    number, amount = value.split()
    return int(number), int(amount)


class _Reader:
    def __init__(self, servers: str, topic: str) -> None:
        self._topic = topic
        self.found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "auditors",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **_PATIENT,
            }
        )
        self._consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])

    @property
    def count(self) -> int:
        return sum(map(len, self.found))

    def go_on(self, seconds: float = 0.2) -> bool:
        """Whether there was more."""
        messages = [each for each in self._consumer.consume(1_000, seconds) if each.error() is None]
        for each in messages:
            self.found[each.partition() or 0].append(each.value() or b"")
        return bool(messages)

    def to_the_end(self) -> None:
        """Nothing is left open: the last stable offset is the end. Fails if that does not come true."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not self.go_on(0.5) and self._is_at_its_end():
                return
        raise AssertionError(f"{self._topic}: readers do not come to its end: {self._ends()}")

    def _is_at_its_end(self) -> bool:
        return all(at >= end for at, end in self._ends())

    def _ends(self) -> list[tuple[int, int]]:
        """Position and high watermark of each partition."""
        parts = self._consumer.position([TopicPartition(self._topic, index) for index in range(PARTITIONS)])
        ends = [self._consumer.get_watermark_offsets(each, timeout=10)[1] for each in parts]
        return [(max(0, each.offset), end) for each, end in zip(parts, ends, strict=True)]

    def close(self) -> None:
        self._consumer.close()
