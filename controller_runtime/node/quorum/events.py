"""What may happen to a node. The shell turns sockets, disks and clocks into these values and feeds them to `step` one
at a time.

The same union serves controllers and brokers. Rules the shell keeps:

- The next event is fed only after every effect of the last one has been performed (see `effects`).
- Each `Call` is answered by exactly one `ResponseReceived` or `CallFailed` with its id; a late answer is dropped by the
  shell.
- `LogFlushed.end_offset` is read from the log at the moment the event is fed, never carried through a queue: so no
  truncation lies between the number and its delivery.
"""

from __future__ import annotations

from controller_runtime.identifiers import Offset, OffsetAndEpoch
from controller_runtime.parts.events import (
    CallFailed,
    ConnectionClosed,
    HeartbeatsCutOff,
    PeerDisconnected,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class LogFlushed:
    """The metadata log is on disk up to `end_offset` (exclusive)."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class SnapshotFlushed:
    """A fetched snapshot is complete, frozen (fsynced, renamed) and readable through `SnapshotReader`."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SnapshotWritten:
    """`TakeSnapshot` is done: the snapshot is frozen and readable, unless the log has gone beyond it meanwhile."""

    snapshot_id: OffsetAndEpoch
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotGivenUp:
    """`TakeSnapshot` left nothing behind: there was one already, or no room for it."""

    snapshot_id: OffsetAndEpoch
    reason: str


@dataclass(frozen=True, slots=True)
class LogScrubbed:
    """`ScrubLog` is done. `damage` names the file, the place and the reason, if what is there is not what
    was written.
    """

    damage: str | None


QuorumEvent = (
    RequestReceived
    | ConnectionClosed
    | ResponseReceived
    | CallFailed
    | HeartbeatsCutOff
    | PeerDisconnected
    | LogFlushed
    | SnapshotFlushed
    | SnapshotWritten
    | SnapshotGivenUp
    | LogScrubbed
    | TimePassed
    | ShutdownRequested
)
"""What every node may be fed. `broker_node` widens it with the events of its data plane."""
