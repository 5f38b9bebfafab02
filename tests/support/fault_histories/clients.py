"""Who writes orders into a queue while things happen, and who reads everything at the end; both of librdkafka."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.fault_histories.verdict import Found

PARTITIONS: Final = 3
PATIENCE_S: Final = 120.0
PATIENT: Final[Mapping[str, int]] = {
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": 5_000,
    "log_level": 1,  # that brokers go is no news here
}
_PAUSE_S: Final = 0.01


def make_topics(servers: str, *names: str) -> None:
    """Tried again while nobody is there who could."""
    deadline = time.monotonic() + PATIENCE_S
    for name in names:
        while True:
            admin = AdminClient({"bootstrap.servers": servers, **PATIENT})
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
                **PATIENT,
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
            try:
                self._producer.poll(_PAUSE_S)
            except KafkaException as fatal:
                self.failed.append(str(fatal))
                return

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
                **PATIENT,
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
            with suppress(KafkaException):  # whom it asked leads no more
                if not self.go_on(0.5) and self._is_at_its_end():
                    return
        raise AssertionError(f"{self._topic}: readers of committed records do not come to its end: {self._ends()}")

    def _is_at_its_end(self) -> bool:
        return all(at >= end for at, end in self._ends())

    def _ends(self) -> list[tuple[int, int]]:
        """Position and high watermark of each partition."""
        parts = self._consumer.position([TopicPartition(self._topic, index) for index in range(PARTITIONS)])
        ends = [self._consumer.get_watermark_offsets(each, timeout=10)[1] for each in parts]
        return [(max(0, each.offset), end) for each, end in zip(parts, ends, strict=True)]

    def close(self) -> None:
        self._consumer.close()
