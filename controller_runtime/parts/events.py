"""What may happen to any part of a node: requests, answers to calls, connections, time.

The shell turns sockets and clocks into these values. Each `Call` is answered by exactly one `ResponseReceived` or
`CallFailed` with its id; a late answer is dropped by the shell.
"""

from __future__ import annotations

from enum import Enum
from typing import NewType

from controller_runtime.identifiers import Endpoint
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
    authenticated: bool = False
    """The principal was shown, and not only assumed."""
    token_authenticated: bool = False
    """It was shown by a delegation token."""

    @property
    def may_use_tokens(self) -> bool:
        """Who has shown who he is, himself: a token makes no other token."""
        return self.authenticated and not self.token_authenticated


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
    """As it came, without its length, if a broker that has judged it may have to forward it."""


@dataclass(frozen=True, slots=True)
class UnreadRequest:
    """A request that a broker forwards as it came: its header was decoded, its body was not, and may be none (a large
    one was walked over). It is answered by one `Relay`, `Respond` or `CloseConnection`.
    """

    request_id: RequestId
    connection: ConnectionInfo
    api_key: int
    api_version: int
    correlation_id: int
    frame: bytes = field(repr=False)
    """Without its length."""


def unread(event: RequestReceived) -> UnreadRequest:
    """A request that was read, to be forwarded as it came after all."""
    assert event.frame is not None, "what may be forwarded keeps its frame"
    return UnreadRequest(
        event.request_id,
        event.connection,
        event.api_key,
        event.api_version,
        correlation_id=event.correlation_id,
        frame=event.frame,
    )


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
    UNAUTHENTICATED = "unauthenticated"
    """The peer does not believe who we are, or we do not believe it: nothing was sent. It may pass."""


@dataclass(frozen=True, slots=True)
class CallFailed:
    call_id: CallId
    why: CallFailure


@dataclass(frozen=True, slots=True)
class HeartbeatsCutOff:
    """A connection on which a broker sent heartbeats is gone. A killed process looks like this at once, and so does one
    that lives and connects again.
    """

    connection_id: ConnectionId


@dataclass(frozen=True, slots=True)
class PeerDisconnected:
    """An idle outgoing connection was ended by its peer: nobody there any more, though no call was in flight."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline that `next_deadline()` named has come; feeding it early or late is harmless."""

    held_up_s: float = 0.0
    """For so long, until now, this node did not run and heard nobody: no silence of others."""


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """SIGTERM. The node hands over what it can and then emits `Stop`; the shell enforces its own upper bound on
    waiting.
    """
