"""Controllers and brokers of ours and Java's in one cluster, and what tests of their security ask of clients."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from support.apache_kafka.java_kafka import JavaNode, run_tool
from support.apache_kafka.mixed_quorum import MixedQuorum
from support.nodes.processes import eventually

OURS: Final = 11
JAVA: Final = 12
SECONDS: Final = 180.0
Settings = Mapping[str, str | int | float | bool]


class MixedCluster:
    """Controllers 1 and 3 and broker 11 are ours, controller 2 and broker 12 are Java's."""

    def __init__(self, directory: Path, options: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self.quorum = MixedQuorum(directory, "OJO", brokers=2, options=options)
        self._java_broker: JavaNode | None = None

    def __enter__(self) -> Self:
        """Returns when both brokers serve."""
        self.quorum.__enter__()
        try:
            self.quorum.start([1, 2, 3, OURS])
            java = self.quorum.node(JAVA)
            self._java_broker = JavaNode(java.properties_file, java.directory / "java.log")
            eventually("our broker is ready", lambda: self.quorum.node(OURS).http("/readyz")[0] == 200, SECONDS)
            self._java_broker.wait_for_log("Transition from STARTING to STARTED", SECONDS)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._java_broker is not None:
            self._java_broker.kill()
        self.quorum.__exit__(kind, error, trace)

    def ask(self, tool: str, file: str, *arguments: str, at: str) -> str:
        """What a tool of Java's says, whose client is configured by `file`."""
        where = ["--bootstrap-controller" if at == self.quorum.bootstrap else "--bootstrap-server", at]
        done = run_tool(tool, *where, "--command-config", file, *arguments, timeout_s=SECONDS)
        assert done.rc == 0, done
        return done.out


def write_by_librdkafka(settings: Settings, topic: str, value: bytes) -> None:
    producer = Producer(dict(settings))
    producer.produce(topic, value)
    assert producer.flush(60) == 0


def read_by_librdkafka(settings: Settings, topic: str, count: int) -> list[bytes]:
    """So many of the first records of partition 0, if they come within a minute."""
    consumer = Consumer({**settings, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([Place(topic, 0, 0)])
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    return found
