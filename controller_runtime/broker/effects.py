"""What a broker asks of the shell beyond what every node does: its topic partitions on the disk.

The shell performs these in the order given, for each partition, away from the event loop; an answer comes back as the
event of the same number. What a broker decided about a partition is always in that order: so an append may be decided
before the last one is written. An append that its disk refuses takes the whole log directory with it: the broker has
already given its offsets away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NewType

from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.parts.effects import Effect
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.values import dataclass, field

WorkId = NewType("WorkId", int)

LATEST_TIMESTAMP = -3
"""In `FindTimestamp`: the latest timestamp in the log, as in ListOffsets."""


@dataclass(frozen=True, slots=True)
class SetAsideStrays:
    """Before any log is opened: rename the directories of all partitions but these, as Kafka does (`…-stray`).
    `StraysSetAside` follows.
    """

    replicas: frozenset[PartitionId]


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """Recover the partition's log, or make it. `directory_id` says in which log directory; None leaves it
    to the shell.
    """

    key: PartitionId
    topic: str
    directory_id: DirectoryId | None
    configs: Mapping[str, str] = field(default_factory=dict)
    is_new: bool = True
    """It came to this broker while it ran: no log of it is anywhere yet."""
    avoid: tuple[DirectoryId, ...] = ()
    """Where it does not begin unless there is no other place."""


@dataclass(frozen=True, slots=True)
class ClosePartition:
    """The broker is no replica of it any more: let go of its files, and `delete` them when the topic is gone."""

    key: PartitionId
    delete: bool


@dataclass(frozen=True, slots=True)
class ConfigureLog:
    """The topic's configurations have changed. A log that is opened later brings its own."""

    key: PartitionId
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AppendRecords:
    """Write batches that have their offsets; `PartitionWritten` follows."""

    key: PartitionId
    end_offset: int
    batches: bytes


@dataclass(frozen=True, slots=True)
class CutLog:
    """A follower's log ends at `end_offset`, or before the batch that reaches over it. `LogCut` follows."""

    key: PartitionId
    end_offset: int


@dataclass(frozen=True, slots=True)
class RestartLog:
    """Nothing that a follower has is of use: the log begins anew, empty, at `start_offset`. `LogCut` follows."""

    key: PartitionId
    start_offset: int


@dataclass(frozen=True, slots=True)
class DeleteBefore:
    """Nothing below `start_offset` is read any more: remove what lies wholly below."""

    key: PartitionId
    start_offset: int


@dataclass(frozen=True, slots=True)
class CopyMore:
    """Begin a copy in another log directory, or go on with it. `MoveGrew` follows, or `MoveFailed`."""

    key: PartitionId
    topic: str
    target: DirectoryId
    max_bytes: int


@dataclass(frozen=True, slots=True)
class CompleteMove:
    """Let the copy take the place of the log; appends wait. `LogMoved` follows, or `MoveFailed`."""

    key: PartitionId
    topic: str
    target: DirectoryId
    high_watermark: int


@dataclass(frozen=True, slots=True)
class AbandonMove:
    """The copy is not wanted any more: remove it."""

    key: PartitionId
    target: DirectoryId


@dataclass(frozen=True, slots=True)
class MeasureDirectory:
    """How large are its logs, and how much room is left? `DirectoryMeasured` follows."""

    work_id: WorkId
    directory_id: DirectoryId


@dataclass(frozen=True, slots=True)
class ReadSlice:
    """From `offset` at most `max_bytes`, and of that only what is below `before`."""

    key: PartitionId
    offset: int
    max_bytes: int
    before: int
    stable: bool = False
    """Say also which transactions in it were aborted."""


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Read these slices, in order, `max_bytes` in all; the first batch found is whole even if larger. `RecordsRead`
    follows.
    """

    work_id: WorkId
    slices: tuple[ReadSlice, ...]
    max_bytes: int


@dataclass(frozen=True, slots=True)
class CancelRead:
    """Nobody waits for this read any more: it need not be done, and `RecordsRead` need not follow."""

    work_id: WorkId


@dataclass(frozen=True, slots=True)
class FindTimestamp:
    """The first record with this timestamp or a later one; `TimestampFound` follows."""

    work_id: WorkId
    key: PartitionId
    timestamp: int


@dataclass(frozen=True, slots=True)
class FinishWithoutReply:
    """The request (a produce with acks=0) is done and wants no answer."""

    request_id: RequestId


PartitionEffect = (
    SetAsideStrays
    | OpenPartition
    | ClosePartition
    | ConfigureLog
    | AppendRecords
    | CutLog
    | RestartLog
    | DeleteBefore
    | CopyMore
    | CompleteMove
    | AbandonMove
    | MeasureDirectory
    | ReadRecords
    | CancelRead
    | FindTimestamp
    | FinishWithoutReply
)
"""What only a broker asks for."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Answer a request with what the controller answered to these very bytes: a response's header and body."""

    request_id: RequestId
    frame: bytes = field(repr=False)


BrokerEffect = Effect | Relay | PartitionEffect
"""All that a broker asks for."""


@dataclass(frozen=True, slots=True)
class StraysSetAside:
    """The paths that they have now."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionOpened:
    """The log is recovered: where it begins and ends, who wrote it, and in which directory it lies."""

    key: PartitionId
    start_offset: int
    end_offset: int
    epoch_starts: tuple[tuple[int, int], ...]
    producers: Mapping[int, ProducerEntry]
    directory_id: DirectoryId
    high_watermark: int = 0
    """As it was last written down; 0 if it was not."""


@dataclass(frozen=True, slots=True)
class PartitionFailed:
    """The log cannot be opened, or met a fault of ours while it was written. `fatal`: nothing can be promised of it.

    Without a key it is more than one partition's log.
    """

    key: PartitionId | None
    reason: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class DirectoryFailed:
    """The disk of a log directory refused what was promised: nothing in it is written or read any more."""

    directory_id: DirectoryId
    reason: str


@dataclass(frozen=True, slots=True)
class PartitionWritten:
    """Every append up to `end_offset` is in the log. `api_key`: whose work it goes on with; for metrics."""

    api_key: ClassVar = ApiKey.PRODUCE
    key: PartitionId
    end_offset: int


@dataclass(frozen=True, slots=True)
class MoveGrew:
    """The copy ends at `end_offset`, the log itself at `log_end`; so many bytes were copied."""

    key: PartitionId
    target: DirectoryId
    end_offset: int
    log_end: int
    copied: int


@dataclass(frozen=True, slots=True)
class LogMoved:
    """The copy is the log."""

    key: PartitionId
    target: DirectoryId


@dataclass(frozen=True, slots=True)
class MoveFailed:
    """The log is where it was. What there is of a copy may be there still."""

    key: PartitionId
    target: DirectoryId
    reason: str


@dataclass(frozen=True, slots=True)
class CopyFound:
    """A stop came before a move was over; the log is open."""

    key: PartitionId
    target: DirectoryId


@dataclass(frozen=True, slots=True)
class LogBegins:
    """Old records were deleted, as the topic's configurations say: the log begins at `start_offset` by now."""

    key: PartitionId
    start_offset: int


@dataclass(frozen=True, slots=True)
class ProducersExpired:
    """These have not written since `before_ms`, and have no open transaction: nothing is known of them any more."""

    key: PartitionId
    producer_ids: tuple[int, ...]
    before_ms: int


@dataclass(frozen=True, slots=True)
class LogCut:
    """Where the log begins and ends now, and what is known of it."""

    key: PartitionId
    start_offset: int
    end_offset: int
    epoch_starts: tuple[tuple[int, int], ...]
    producers: Mapping[int, ProducerEntry]


@dataclass(frozen=True, slots=True)
class Stable:
    """Whole batches of a slice whose reader wants only what is committed."""

    records: bytes
    aborted: tuple[tuple[int, int], ...]
    """Of each aborted transaction its producer and its first offset, in the order of their markers."""

    def __len__(self) -> int:
        return len(self.records)


Data = bytes | Stable | ErrorCode
"""Of one slice: whole batches, or why it could not be read."""


def plain(found: bytes | Stable) -> bytes:
    return found.records if isinstance(found, Stable) else found


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """In the order of the slices."""

    api_key: ClassVar = ApiKey.FETCH
    work_id: WorkId
    data: tuple[Data, ...]


@dataclass(frozen=True, slots=True)
class TimestampFound:
    """-1 and -1: there is no such record."""

    api_key: ClassVar = ApiKey.LIST_OFFSETS
    work_id: WorkId
    timestamp: int
    offset: int


@dataclass(frozen=True, slots=True)
class DirectoryMeasured:
    """`room` is all bytes of its disk and those that may still be written; None: it cannot be read."""

    work_id: WorkId
    directory_id: DirectoryId
    room: tuple[int, int] | None
    sizes: Mapping[PartitionId, int] = field(default_factory=dict)
    """Of the logs that are open, by partition."""
    copies: Mapping[PartitionId, tuple[int, int]] = field(default_factory=dict)  # bytes, and where they end


BrokerEvent = (
    StraysSetAside
    | PartitionOpened
    | PartitionFailed
    | DirectoryFailed
    | DirectoryMeasured
    | PartitionWritten
    | MoveGrew
    | LogMoved
    | MoveFailed
    | CopyFound
    | LogBegins
    | ProducersExpired
    | LogCut
    | RecordsRead
    | TimestampFound
)
"""What comes back from topic partitions."""
