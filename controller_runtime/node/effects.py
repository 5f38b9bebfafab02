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

from controller_runtime.identifiers import Endpoint, Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.events import CallId, ConnectionId, RequestId
from controller_runtime.protocol.schema import Message
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
    "NodeEffect",
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
class Respond:
    """Answer a request, in the version it came in. Answers of one connection leave in the order of its requests
    (shell's duty).
    """

    request_id: RequestId
    body: Message


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """End an accepted connection without answering what is still open on it."""

    connection_id: ConnectionId


@dataclass(frozen=True, slots=True)
class Call:
    """Send a request to `endpoint` on the connection that belongs to (`channel`, `endpoint`), made on first use.

    The shell asks ApiVersions first, encodes `body` at the highest common version, and reports back within
    `timeout_ms`, connecting included. Several calls may be in flight on one channel; channels never block each other
    (raft, heartbeat, forwarding … are channels, as Apache Kafka has one connection for each).
    """

    call_id: CallId
    channel: str
    endpoint: Endpoint
    body: Message
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class CancelCall:
    """Nobody waits for this call any more: the shell may drop its answer; neither answer nor failure is reported."""

    call_id: CallId


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


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the operator's eyes, at `level` info, warning or error. Everything else is logged by rendering events
    and effects.
    """

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process: cleanly after a shutdown, or (`fault`) because going on could break a promise."""

    reason: str
    fault: bool = False


NodeEffect = (
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
    | Stop
)
"""What every node may ask for. `broker_node` widens it with the effects of its data plane."""
