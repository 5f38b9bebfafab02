"""What a broker asks of the shell beyond what every node does: its topic partitions on the disk.

The shell performs these in the order given, for each partition, away from the event loop; an answer comes back as the
event of the same number. What a broker decided about a partition is always in that order: so an append may be decided
before the last one is written. An append that fails is fatal: the broker has already given its offsets away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NewType

from controller_runtime.broker.partition import PartitionKey
from controller_runtime.identifiers import DirectoryId
from controller_runtime.node.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.values import dataclass, field

WorkId = NewType("WorkId", int)

LATEST_TIMESTAMP = -3
"""In `FindTimestamp`: the latest timestamp in the log, as in ListOffsets."""


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """Recover the partition's log, or make it. `directory_id` says in which log directory; None leaves it
    to the shell.
    """

    key: PartitionKey
    topic: str
    directory_id: DirectoryId | None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosePartition:
    """The broker is no replica of it any more: let go of its files, and `delete` them when the topic is gone."""

    key: PartitionKey
    delete: bool


@dataclass(frozen=True, slots=True)
class AppendRecords:
    """Write batches that have their offsets; `PartitionWritten` follows."""

    key: PartitionKey
    end_offset: int
    batches: bytes


@dataclass(frozen=True, slots=True)
class ReadSlice:
    """From `offset` at most `max_bytes`, and of that only what is below `before`."""

    key: PartitionKey
    offset: int
    max_bytes: int
    before: int


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Read these slices, in order, `max_bytes` in all; the first batch found is whole even if larger. `RecordsRead`
    follows.
    """

    work_id: WorkId
    slices: tuple[ReadSlice, ...]
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FindTimestamp:
    """The first record with this timestamp or a later one; `TimestampFound` follows."""

    work_id: WorkId
    key: PartitionKey
    timestamp: int


@dataclass(frozen=True, slots=True)
class FinishWithoutReply:
    """The request (a produce with acks=0) is done and wants no answer."""

    request_id: RequestId


BrokerEffect = OpenPartition | ClosePartition | AppendRecords | ReadRecords | FindTimestamp | FinishWithoutReply


@dataclass(frozen=True, slots=True)
class PartitionOpened:
    """The log is recovered: where it begins and ends, who wrote it, and in which directory it lies."""

    key: PartitionKey
    start_offset: int
    end_offset: int
    epoch_starts: tuple[tuple[int, int], ...]
    producers: Mapping[int, ProducerEntry]
    directory_id: DirectoryId


@dataclass(frozen=True, slots=True)
class PartitionFailed:
    """The log cannot be opened, or its disk refused a write. `fatal`: what was promised about it cannot be kept.

    Without a key it is the disk that failed, not one partition's log.
    """

    key: PartitionKey | None
    reason: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class PartitionWritten:
    """Every append up to `end_offset` is in the log."""

    key: PartitionKey
    end_offset: int


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """In the order of the slices: whole batches, or why the slice could not be read."""

    work_id: WorkId
    data: tuple[bytes | ErrorCode, ...]


@dataclass(frozen=True, slots=True)
class TimestampFound:
    """-1 and -1: there is no such record."""

    work_id: WorkId
    timestamp: int
    offset: int


BrokerEvent = PartitionOpened | PartitionFailed | PartitionWritten | RecordsRead | TimestampFound
