"""A client of librdkafka that writes one record after another and remembers what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from support.nodes.processes import eventually

TOPIC: Final = "ledger"
Settings = Mapping[str, str | int | float | bool]
"""Of the client, beside its servers."""
NONE: Final[Settings] = {}


class Writer:
    """Writes one record after another, each acknowledged before it counts, until it is told to stop."""

    def __init__(self, servers: str, settings: Settings = NONE) -> None:
        self.acknowledged: list[int] = []
        self._stop = threading.Event()
        self._settings = {"bootstrap.servers": servers, "acks": "all", "message.timeout.ms": 120_000, **settings}
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        producer = Producer(self._settings)
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


def everything(servers: str, count: int, settings: Settings = NONE) -> set[int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody", "enable.auto.commit": False, **settings})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: set[int] = set()
    deadline = time.monotonic() + 90
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None, message.error()
            found.add(int(message.value()))
    consumer.close()
    return found
