"""What a replica asks for, in the order in which it must happen.

`SaveElection` is on disk before what follows it leaves. `Append` and `AppendControl` are not awaited: the event
`Flushed` tells. `Truncate` and `ResetLog` take effect at once.
"""

from __future__ import annotations

from enum import Enum

from controller_runtime.identifiers import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.messages import ControlRecord, FetchResponse, LogBatch, Request, Response
from controller_runtime.values import dataclass


class Lane(Enum):
    """Requests that may wait for each other share a lane: a parked Fetch never delays a vote."""

    FETCH = "raft-fetch"
    CONTROL = "raft"


@dataclass(frozen=True, slots=True)
class SaveElection:
    """Write `quorum-state` durably (file, rename, directory) before performing what follows."""

    state: ElectionState


@dataclass(frozen=True, slots=True)
class Append:
    """Fetched batches, whole and in order, at the log's end."""

    batches: tuple[LogBatch, ...]


@dataclass(frozen=True, slots=True)
class AppendControl:
    """One control batch of the leader: records at `base_offset`, `base_offset + 1`, …; the border encodes it."""

    base_offset: Offset
    epoch: Epoch
    records: tuple[ControlRecord, ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the metadata log to end before `end_offset` (a batch boundary)."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class ResetLog:
    """Drop the whole metadata log; it continues, empty, at the end of this snapshot."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class WriteSnapshot:
    """Write bytes of a snapshot's part file at `position` (0 makes the file anew); `last` freezes it
    (fsync, rename).
    """

    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class DropSnapshotPart:
    """Delete the part file of a fetched snapshot: nobody goes on with it."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Send:
    """`to` is None where only the address is known (a bootstrap server)."""

    call: int
    lane: Lane
    to: NodeId | None
    endpoint: Endpoint
    request: Request
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Abandon:
    """Nobody waits for this call any more."""

    call: int


@dataclass(frozen=True, slots=True)
class Reply:
    token: int
    response: Response


@dataclass(frozen=True, slots=True)
class ReplyRecords:
    """Answer a Fetch with whole batches from `offset` on, up to `max_bytes` but at least one; none if `offset` is the
    log's end.
    """

    token: int
    response: FetchResponse
    offset: Offset
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ReplySnapshot:
    """Answer a FetchSnapshot with a slice of the file. The border knows the file's size and refuses positions outside
    it.
    """

    token: int
    epoch: Epoch
    leader_id: NodeId | None
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class AdvanceHighWatermark:
    """Everything below is committed, for ever."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class StartLeading:
    """This node leads `epoch`, and all that earlier epochs left in its log is committed: the application may write."""

    epoch: Epoch


@dataclass(frozen=True, slots=True)
class StopLeading:
    """What the application wrote in `epoch` and is not committed yet may vanish."""

    epoch: Epoch


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """The log was replaced by this snapshot: the application's state is what it says."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Note:
    """A line for people: something that should not happen, but is safe to go on from. `alarming`: somebody must look at
    it.
    """

    text: str
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class ReadyToStop:
    """After `Shutdown`: nothing more to hand over."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A promise of the protocol was broken by somebody: going on could lose committed data."""

    reason: str


RaftEffect = (
    SaveElection
    | Append
    | AppendControl
    | Truncate
    | ResetLog
    | WriteSnapshot
    | DropSnapshotPart
    | Send
    | Abandon
    | Reply
    | ReplyRecords
    | ReplySnapshot
    | AdvanceHighWatermark
    | StartLeading
    | StopLeading
    | LoadSnapshot
    | Note
    | ReadyToStop
    | Fault
)
