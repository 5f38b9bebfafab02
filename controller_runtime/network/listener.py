"""The accepting side: a listening socket and its connections.

As in Apache Kafka a connection has one request in progress; the next is taken up when the reply has left. What a peer
sends ahead stays in the kernel beyond a small bound, and while a peer does not read its replies nothing more is read
from it: so memory per connection is bounded by one request, one reply and two small buffers, whatever the peer does.
All connections together are bounded too: beyond the totals of `ListenerLimits` the one that holds most is closed, and a
peer that takes nothing of its reply is not waited for for ever. How many there may be is `connection_quotas`' to say.
Callers may not assume that a connection they hold is still open; replying to a closed one does nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

from controller_runtime.network.binding import bind, packed_address
from controller_runtime.network.connection_quotas import Admission, ConnectionQuotas
from controller_runtime.network.frames import BadFrame, FrameBuffer, whole_frame
from controller_runtime.network.idle import IdleSweep
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.network.unconfirmed import unconfirmed_bytes
from controller_runtime.security.protocols import ANONYMOUS

if TYPE_CHECKING:
    from controller_runtime.network.handshakes import Handshake

log = logging.getLogger(__name__)

READ_AHEAD_BYTES: Final = 64 * 1024
"""How much of later requests is held while one is in progress, before the peer has to wait."""
UNSENT_REPLY_BYTES: Final = 64 * 1024
"""How much of a reply may still wait for the peer before its next request is taken up."""
LARGE_BYTES: Final = 256 * 1024
"""Of requests and replies whose memory is worth giving back."""
WATCH_SECONDS: Final = 1.0
"""How often it is looked whether peers take their replies, while some have more than UNSENT_REPLY_BYTES to take."""


class FrameHandler(Protocol):
    """Who answers. Every frame is followed by exactly one `reply`, `finish` or `close` on its connection."""

    def connection_opened(self, connection: ServerConnection) -> None: ...

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None: ...

    def connection_closed(self, connection: ServerConnection) -> None: ...


class ServerConnection(asyncio.Protocol):
    """One accepted connection."""

    __slots__ = (
        "_advance_scheduled",
        "_frames",
        "_listener",
        "_lost",
        "_reading_paused",
        "_taken_at",
        "_transport",
        "_unsent_seen",
        "_writing_paused",
        "busy",
        "connection_id",
        "last_activity",
        "peer",
        "peer_address",
        "principal",
    )

    def __init__(self, listener: SocketServer) -> None:
        self._listener = listener
        self._frames = FrameBuffer(listener.limits.max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._reading_paused = False
        self._writing_paused = False
        self._advance_scheduled = False
        self._lost = False
        self._unsent_seen = 0
        self._taken_at = 0.0
        self.busy = False
        self.connection_id = 0
        self.last_activity = 0.0
        self.peer = "?"
        self.peer_address = b"\x7f\x00\x00\x01"
        self.principal = ANONYMOUS

    @property
    def listener_name(self) -> str:
        return self._listener.name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._lost:
            return  # an encrypted one may end in the turn that secures it
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNSENT_REPLY_BYTES, low=0)
        self.last_activity = self._listener.now()
        name = transport.get_extra_info("peername")
        if name:
            self.peer = f"{name[0]}:{name[1]}"
            self.peer_address = packed_address(name[0])
        if not self._listener.admit(self):
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        listener = self._listener
        self.last_activity = listener.now()
        if not (self.busy or self._writing_paused or self._advance_scheduled or len(self._frames)):
            frame = whole_frame(data, self._frames.max_frame_bytes)
            if frame is not None and self._transport is not None and not self._transport.is_closing():
                self.busy = True
                listener.handler.frame_received(self, frame)
                return
        self._frames.feed(data)
        listener.collected(self, len(data))
        if not self.busy and not self._advance_scheduled:
            self._advance()
        if len(self._frames) > READ_AHEAD_BYTES and (self.busy or self._writing_paused or self._advance_scheduled):
            self._pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport, self._lost = None, True
        self._drop_collected()
        self._listener.forget(self)

    def pause_writing(self) -> None:
        self._writing_paused = True
        self._unsent_seen, self._taken_at = self.unsent_bytes, self._listener.now()
        self._listener.fell_behind(self, self._unsent_seen)

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._listener.caught_up(self)
        self.last_activity = self._listener.now()
        self._schedule_advance()

    def reply(self, frame: bytes) -> None:
        """Send the answer of the request in progress: a frame with its length."""
        if self._transport is not None:
            self._transport.write(frame)
        if len(frame) > LARGE_BYTES:
            self._listener.used_much()
        self.finish()

    def finish(self) -> None:
        """The request in progress is done (and has no further answer)."""
        self.busy = False
        self.last_activity = self._listener.now()
        self._schedule_advance()

    def limit_frames(self, most: int | None) -> None:
        """No frame may be larger; None: what the listener allows everybody."""
        allowed = self._listener.limits.max_frame_bytes
        self._frames.max_frame_bytes = allowed if most is None else min(most, allowed)

    def close(self, reason: str) -> None:
        """End the connection; what it sent was wrong in a way that has no reply."""
        if self._transport is not None:
            log.info("closing the connection from %s on %s: %s", self.peer, self._listener.name, reason)
            self._drop_collected()
            self._transport.abort()

    def hold(self) -> None:
        """Take up nothing of what it sends until `let_in`, or `release`."""
        self._advance_scheduled = True

    def let_in(self) -> None:
        """It may take part. One whose handshake goes on does so when that is done."""
        if self._transport is not None:
            self.last_activity = self._listener.now()
            self._listener.enter(self)
            self._listener.loop.call_soon(self.release)

    def turn_away(self, why: str) -> None:
        self._listener.refused_connections += 1
        for handshake in [one for one in self._listener.handshakes if one.connection is self]:
            handshake.end(why)
        self.close(why)

    def close_after_sending(self) -> None:
        """An orderly end: what was replied is still sent."""
        if self._transport is not None:
            self._transport.close()

    @property
    def is_idle(self) -> bool:
        """Nothing of ours is in progress: the peer is the one who should do something."""
        return not self.busy or self._writing_paused

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    @property
    def collected_bytes(self) -> int:
        return len(self._frames)

    def stalled_for(self, now: float) -> float:
        """How long the peer has taken nothing of what is unsent."""
        assert self._transport is not None, "asked of those that are open"
        untaken = self.unsent_bytes + unconfirmed_bytes(self._transport)
        if untaken != self._unsent_seen:
            self._taken_at = self.last_activity = now
        self._unsent_seen = untaken
        return now - self._taken_at

    def _drop_collected(self) -> None:
        self._listener.collected(self, -len(self._frames))
        self._frames.clear()

    def _schedule_advance(self) -> None:
        """One request per turn of the loop, so that a peer that sends many at once does not starve the others."""
        if self._advance_scheduled or self._transport is None or not (len(self._frames) or self._reading_paused):
            return
        self._advance_scheduled = True
        self._listener.loop.call_soon(self.release)

    def release(self) -> None:
        self._advance_scheduled = False
        self._advance()

    def _advance(self) -> None:
        if self.busy or self._writing_paused or self._transport is None or self._transport.is_closing():
            return
        try:
            frame = self._frames.next_frame()
        except BadFrame as bad:
            self.close(str(bad))
            return
        if frame is not None:
            self._listener.collected(self, -4 - len(frame))
            self.busy = True
            self._listener.handler.frame_received(self, frame)
        if (self._reading_paused and len(self._frames) <= READ_AHEAD_BYTES) or frame is None:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if not self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()


class SocketServer:
    """A named listening socket."""

    def __init__(
        self, name: str, handler: FrameHandler, limits: ListenerLimits, quotas: ConnectionQuotas | None = None
    ) -> None:
        """`quotas` are shared by the listeners of a role."""
        self.name = name
        self.accept: Callable[[], asyncio.Protocol] = lambda: ServerConnection(self)
        """What takes a connection first; see `secure_listener`."""
        self.handler = handler
        self.limits = limits
        self.quotas = quotas or ConnectionQuotas()
        self.quotas.add_listener(name, limits.backlog)
        self.loop = asyncio.get_running_loop()
        self.connections: set[ServerConnection] = set()
        self.refused_connections = 0
        self.handshakes: dict[Handshake, None] = {}
        """Connections that are not encrypted yet."""
        self.failed_handshakes = 0
        self.secured_connections = 0
        self.shed_connections = 0
        """Closed because all held too much, or because their peers did not take their replies."""
        self.collected_bytes = 0
        self.on_room: Callable[[], None] | None = None
        """Called when peers have taken replies, or are gone."""
        self.unsent_bytes = 0
        """Of large replies that peers have not taken: all of each, as its memory is held to its last byte."""
        self.on_large: Callable[[], None] | None = None
        """Called when a large request was taken up or dropped, and when a large reply was written or is gone."""
        self._behind: dict[ServerConnection, int] = {}
        """Those whose peers had more than UNSENT_REPLY_BYTES to take and have not taken all; the others have little."""
        self._watch: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._sweep = IdleSweep(self.loop, self.connections, limits.max_idle_seconds)

    def now(self) -> float:
        return self.loop.time()

    async def open(self, host: str, port: int, *, accepts: bool = True) -> int:
        """Bind and accept, now or when `start_accepting`; returns the port. Raises OSError with the address."""
        bound, queued = bind(host, port, self.limits), self.limits.backlog
        self._server = await self.loop.create_server(self.accept, sock=bound, backlog=queued, start_serving=accepts)
        self._sweep.start()
        return cast(int, bound.getsockname()[1])

    async def start_accepting(self) -> None:
        await cast(asyncio.Server, self._server).start_serving()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._sweep.stop()
        if self._watch is not None:
            self._watch.cancel()

    def close(self) -> None:
        self.stop_accepting()
        for handshake in tuple(self.handshakes):
            handshake.end("the listener closes")
        for connection in tuple(self.connections):
            connection.close_after_sending()
        for guest in self.quotas.waiting(self.name):
            guest.turn_away("the listener closes")

    def admit(self, connection: ServerConnection) -> bool:
        """Count it; from the first byte of its handshake on, if it is to be encrypted."""
        match self.quotas.enter(connection):
            case Admission.REFUSED:
                self.refused_connections += 1
                log.warning("refusing the connection from %s on %s: too many connections", connection.peer, self.name)
                return False
            case Admission.WAITS:
                connection.hold()
            case Admission.IN:
                connection.let_in()
        return True

    def enter(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        self.handler.connection_opened(connection)

    def forget(self, connection: ServerConnection) -> None:
        self.quotas.leave(connection)
        if connection in self.connections:
            self.connections.discard(connection)
            self.caught_up(connection)
            self.handler.connection_closed(connection)

    @property
    def expired_connections(self) -> int:
        return self._sweep.expired

    # What all connections hold together.

    @property
    def has_room(self) -> bool:
        return self.unsent_bytes <= self.limits.max_unsent_bytes

    def collected(self, connection: ServerConnection, more: int) -> None:
        """`connection` holds so many bytes of requests more."""
        self.collected_bytes += more
        if more < -LARGE_BYTES:
            self.used_much()
        while more > 0 and self.collected_bytes > self.limits.max_collected_bytes:
            largest = max(self.connections, key=lambda one: one.collected_bytes, default=connection)
            if not largest.collected_bytes:
                break
            self._shed(
                largest,
                f"unfinished requests of all connections have more than {self.limits.max_collected_bytes} bytes",
            )

    def used_much(self) -> None:
        if self.on_large is not None:
            self.on_large()

    def fell_behind(self, connection: ServerConnection, unsent: int) -> None:
        self._behind[connection] = unsent
        self.unsent_bytes += unsent
        most = 2 * self.limits.max_unsent_bytes
        while self.unsent_bytes > most:
            largest = max(self._behind, key=lambda one: self._behind[one])
            self._shed(largest, f"replies that nobody takes have more than {most} bytes")
        if self._watch is None:
            self._watch = self.loop.call_later(WATCH_SECONDS, self._close_stalled)

    def caught_up(self, connection: ServerConnection) -> None:
        """The peer has taken everything, or the connection ends."""
        unsent = self._behind.pop(connection, 0)
        self.unsent_bytes -= unsent
        if unsent and self.on_room is not None:
            self.on_room()
        if unsent > LARGE_BYTES:
            self.used_much()

    def _close_stalled(self) -> None:
        limits, now = self.limits, self.now()
        patience = limits.stalled_seconds if self.has_room else limits.stalled_seconds_when_full
        for connection in tuple(self._behind):
            if (stalled := connection.stalled_for(now)) > patience:
                left = connection.unsent_bytes
                self._shed(connection, f"its peer has taken nothing of the last {left} bytes for {stalled:.0f} s")
        self._watch = self.loop.call_later(WATCH_SECONDS, self._close_stalled) if self._behind else None

    def _shed(self, connection: ServerConnection, why: str) -> None:
        self.shed_connections += 1
        self.caught_up(connection)
        connection.close(why)
