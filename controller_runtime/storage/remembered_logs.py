"""What a clean stop remembers of the logs of a directory, so that the next start need not look into each of them.

One file beside Kafka's checkpoints, `.quorate-clean-logs`, which Kafka does not know and leaves alone. It is believed
only beside the mark of the very stop that wrote it: the broker epoch in both is the same, and no other run of any
broker has that epoch. So what a Java broker did in between, which takes the mark away and leaves its own, is never
overlooked. Of one log it is believed as long as no name in its directory came, went or was replaced, and every segment
has its size (`log.recovery.recall`); else that log is opened as if nothing was remembered. A file that does not hold
its own checksum says nothing.

In it, as JSON: for each log the topic, the partition, the topic's id, when names changed last, the segments as
(first offset, bytes, end offset), the epochs as (epoch, first offset), and the producers as in a snapshot, in hex.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.checksum import crc32c
from controller_runtime.values import dataclass

FILE: Final = ".quorate-clean-logs"
_VERSION: Final = 0


@dataclass(frozen=True, slots=True)
class RememberedLog:
    topic_id: Uuid
    names_stamp: int
    """As the file system had it (`FileSystem.names_stamp`)."""
    segments: tuple[tuple[int, int, int], ...]
    """First offset, bytes, end offset."""
    epochs: tuple[tuple[int, int], ...]
    """Epoch, first offset."""
    producers: bytes
    """As a producer snapshot has them; b"" for none."""


class RememberedLogs:
    """By topic and partition. A row becomes a value when it is asked for."""

    def __init__(self, rows: Mapping[tuple[str, int], list[Any]]) -> None:
        self._rows = dict(rows)

    def forget(self, topic: str, index: int) -> None:
        """It is opened, or is not what it was."""
        self._rows.pop((topic, index), None)

    def get(self, topic: str, index: int) -> RememberedLog | None:
        row = self._rows.get((topic, index))
        if row is None:
            return None
        try:
            topic_id, stamp, segments, epochs, producers = row
            return RememberedLog(
                Uuid.parse(topic_id),
                int(stamp),
                tuple((int(base), int(size), int(end)) for base, size, end in segments),
                tuple((int(epoch), int(start)) for epoch, start in epochs),
                bytes.fromhex(producers),
            )
        except (TypeError, ValueError):
            return None


def nothing() -> RememberedLogs:
    return RememberedLogs({})


def encode(broker_epoch: int, logs: Mapping[tuple[str, int], RememberedLog]) -> bytes:
    content = {"version": _VERSION, "brokerEpoch": broker_epoch, "logs": list(_rows(logs))}
    data = json.dumps(content, separators=(",", ":")).encode()
    return data + b"\n%08x" % crc32c(data)


def _rows(logs: Mapping[tuple[str, int], RememberedLog]) -> Iterator[list[Any]]:
    for (topic, index), log in logs.items():
        yield [topic, index, str(log.topic_id), log.names_stamp, log.segments, log.epochs, log.producers.hex()]


def decode(data: bytes, broker_epoch: int) -> RememberedLogs:
    """Nothing, unless it is whole and of the stop that left this broker epoch."""
    content, _, checksum = data.rpartition(b"\n")
    try:
        if broker_epoch < 0 or int(checksum, 16) != crc32c(content):
            return nothing()
        found = json.loads(content)
        if (found["version"], found["brokerEpoch"]) != (_VERSION, broker_epoch):
            return nothing()
        return RememberedLogs({(topic, index): row for topic, index, *row in found["logs"]})
    except (ValueError, TypeError, KeyError):
        return nothing()
