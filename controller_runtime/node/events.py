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

from enum import Enum
from typing import NewType

from controller_runtime.identifiers import Endpoint, Offset, OffsetAndEpoch
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

ConnectionId = NewType("ConnectionId", int)
RequestId = NewType("RequestId", int)
CallId = NewType("CallId", int)


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """Where a request came from. `peer_address` has 4 or 16 bytes; `listener` is the upper-case listener name."""

    connection_id: ConnectionId
    listener: str
    peer_address: bytes = b"\x7f\x00\x00\x01"
    principal: str = "User:ANONYMOUS"


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """A decoded request. Every one is answered by one `Respond` (or `CloseConnection`).

    An ApiVersions request at a version nobody knows arrives with a default body and the version asked; its reply is
    encoded as v0 by the shell. Other unknown APIs and versions never arrive: the shell closes the connection.
    """

    request_id: RequestId
    connection: ConnectionInfo
    api_key: int
    api_version: int
    client_id: str | None
    body: Message
    correlation_id: int = 0
    frame: bytes | None = field(default=None, repr=False)
    """As it came, without its length, if a broker may have to forward it."""


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """An accepted connection ended. Replies to its requests would reach nobody; the node forgets what it
    parked for it.
    """

    connection_id: ConnectionId


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The peer's decoded answer to a `Call`, with the version that was negotiated for it."""

    call_id: CallId
    api_version: int
    body: Message


class CallFailure(Enum):
    """Why a call has no answer."""

    REFUSED = "refused"
    """No connection could be made (name not resolved, port closed): nothing was sent."""
    DISCONNECTED = "disconnected"
    """The connection ended while the call was in flight: the peer may have seen it. A killed process looks like this at
    once.
    """
    TIMED_OUT = "timed out"
    UNSUPPORTED_VERSION = "unsupported version"
    """No common version, or a field that the common version cannot carry."""
    MALFORMED = "malformed"
    """The peer sent bytes that do not decode."""


@dataclass(frozen=True, slots=True)
class CallFailed:
    call_id: CallId
    why: CallFailure


@dataclass(frozen=True, slots=True)
class PeerDisconnected:
    """An idle outgoing connection was ended by its peer: nobody there any more, though no call was in flight."""

    endpoint: Endpoint


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


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline that `next_deadline()` named has come; feeding it early or late is harmless."""


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """SIGTERM. The node hands over what it can and then emits `Stop`; the shell enforces its own upper bound on
    waiting.
    """


NodeEvent = (
    RequestReceived
    | ConnectionClosed
    | ResponseReceived
    | CallFailed
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
