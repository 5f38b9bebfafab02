"""What may happen to a replica.

`token` names a request of a peer, chosen by the caller; its answer carries it back. `call` names a request of ours,
chosen by the replica. An event never waits: one `step` handles it wholly.
"""

from __future__ import annotations

from enum import Enum

from controller_runtime.identifiers import Endpoint, Epoch, Offset, OffsetAndEpoch
from controller_runtime.raft.messages import LogBatch, Request, Response
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class RequestArrived:
    token: int
    request: Request


@dataclass(frozen=True, slots=True)
class ResponseArrived:
    call: int
    response: Response


class Failure(Enum):
    REFUSED = "refused"
    """Nobody listens there: the strongest sign that a process has ended."""
    DISCONNECTED = "disconnected"
    TIMED_OUT = "timed out"
    UNSUPPORTED = "unsupported"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A request of ours has no answer, and will not get one."""

    call: int
    why: Failure


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """An idle connection to this endpoint was ended by the other side."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Flushed:
    """The log is on disk below this offset."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class LeaderAppend:
    """The application, leader of `epoch`, adds batches at the log's end. They carry their offsets; `data` is theirs."""

    epoch: Epoch
    batches: tuple[LogBatch, ...]


@dataclass(frozen=True, slots=True)
class SnapshotFetched:
    """The last chunk of a fetched snapshot is frozen on disk; its control records say this."""

    snapshot_id: OffsetAndEpoch
    kraft_version: int
    voters: VoterSet | None


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """This node froze a snapshot of its own, at or below the high watermark."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class LogShortened:
    """The log begins at this snapshot of ours; older ones are gone."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class UpgradeKRaftVersion:
    """The application, leader of `epoch`, raises kraft.version; `Replica.upgrade_fault` said that it can, in the same
    step.
    """

    epoch: Epoch
    level: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The application does not want to lead this epoch any more."""

    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Leave in good order: a leader hands over first. `ReadyToStop` follows."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""

    held_up_s: float = 0.0
    """For so long, until now, this node heard nobody because it did not run."""


RaftEvent = (
    RequestArrived
    | ResponseArrived
    | CallEnded
    | ConnectionLost
    | Flushed
    | LeaderAppend
    | SnapshotFetched
    | SnapshotTaken
    | LogShortened
    | UpgradeKRaftVersion
    | Resign
    | Shutdown
    | Tick
)
