"""What a node asks of the shell. `step` returns a list; the shell performs it in order and decides nothing.

The ordering rule, stated once:

- Effects are performed in the order of the list, and the next event is fed only when the list is done.
- Only `SaveElection` holds back what follows it: it returns when the file is on disk. So "persist before send" is
  visible in the list itself.
- `Append` is not awaited. It hands bytes to the log, where they can be read at once; that they are on disk comes back
  as the event `LogFlushed`. `Truncate` and `ResetLog` take effect before the next effect; after them the log never
  reports as flushed what they removed.
- `Respond` and `Call` queue bytes and never wait for a socket.
"""

from __future__ import annotations

from controller_runtime.identifiers import Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import (
    Call,
    CancelCall,
    CloseConnection,
    LimitConnections,
    Log,
    Respond,
    SetLogLevels,
    Stop,
)
from controller_runtime.raft.effects import DropSnapshotPart, ResetLog, SaveElection, Truncate, WriteSnapshot
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.values import dataclass, field

__all__ = [
    "Append",
    "Call",
    "CancelCall",
    "CloseConnection",
    "DropSnapshotPart",
    "Log",
    "QuorumEffect",
    "ResetLog",
    "Respond",
    "RollLog",
    "SaveElection",
    "ScrubLog",
    "ShortenLog",
    "Stop",
    "TakeSnapshot",
    "Truncate",
    "WriteSnapshot",
]


@dataclass(frozen=True, slots=True)
class Append:
    """Append whole record batches, which begin at the log's end and carry their offsets and epochs, to the metadata
    log.
    """

    base_offset: Offset
    end_offset: Offset
    batches: bytes


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Write a snapshot of this image, beside everything else that goes on: `snapshot_content.content` gives the bytes,
    piece by piece.

    One at a time. `SnapshotWritten` or `SnapshotGivenUp` follows.
    """

    snapshot_id: OffsetAndEpoch
    image: MetadataImage = field(repr=False)
    kraft_version: int
    voters: VoterSet
    last_timestamp: int
    """Of the last batch in it."""
    wall: WallClock


@dataclass(frozen=True, slots=True)
class ShortenLog:
    """Let the log begin at this frozen snapshot: whole segments below it and older snapshots are removed."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class RollLog:
    """Close the active segment of the metadata log."""


@dataclass(frozen=True, slots=True)
class ScrubLog:
    """Read the next slice of what lies closed on the disk again, beside everything else. `LogScrubbed` follows."""

    max_bytes: int


QuorumEffect = (
    Respond
    | CloseConnection
    | Call
    | CancelCall
    | SaveElection
    | Append
    | Truncate
    | ResetLog
    | WriteSnapshot
    | DropSnapshotPart
    | TakeSnapshot
    | ShortenLog
    | RollLog
    | ScrubLog
    | Log
    | SetLogLevels
    | LimitConnections
    | Stop
)
"""What every node may ask for. `broker_node` widens it with the effects of its data plane."""
