"""What any part of a node may ask of the shell: answers, calls, lines for the log, the end of the process.

None of them waits: `Respond` and `Call` queue bytes and never wait for a socket.
"""

from __future__ import annotations

from controller_runtime.identifiers import Endpoint
from controller_runtime.parts.events import CallId, ConnectionId, RequestId
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Inside:
    """What is inside of an Envelope: whoever counts answers need not read it again."""

    header: RequestHeader
    answer: Message


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer a request, in the version it came in. Answers of one connection leave in the order of its requests
    (shell's duty).
    """

    request_id: RequestId
    body: Message
    inside: Inside | None = field(default=None, compare=False, repr=False)


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
    at_broker: bool = False
    """It goes to the inter-broker listener of a broker, and is secured as that is; else to a controller."""


@dataclass(frozen=True, slots=True)
class CancelCall:
    """Nobody waits for this call any more: the shell may drop its answer; neither answer nor failure is reported."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the operator's eyes, at `level` info, warning or error. Everything else is logged by rendering events
    and effects.
    """

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class SetLogLevels:
    """Levels of loggers of this process, in Kafka's words, by name; None: what the logger above it has."""

    levels: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class LimitConnections:
    """How many connections listeners may have from now on: those of one role together, one of them, one address."""

    of_all: int
    per_address: int
    of_host: tuple[tuple[str, int], ...] = ()
    """Addresses or names, instead of `per_address`."""
    of_listener: tuple[tuple[str, int], ...] = ()
    """By its name in lower case, instead of `of_all`."""
    created_of_all: int = 2**31 - 1
    """How many a second; each rate is one of connections that are made."""
    created_of_listener: tuple[tuple[str, int], ...] = ()
    """By its name in lower case, besides that of all."""
    created_of_address: tuple[tuple[str | None, int], ...] = ()
    """None: of each other address."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process: cleanly after a shutdown, or (`fault`) because going on could break a promise."""

    reason: str
    fault: bool = False


Effect = Respond | CloseConnection | Call | CancelCall | Log | SetLogLevels | LimitConnections | Stop
"""What every part may ask for; the replica of the metadata log and the broker have more."""
