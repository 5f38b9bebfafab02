"""The accepting side: a listening socket and its connections.

As in Apache Kafka a connection has one request in progress; the next is taken up when the reply has left. What a peer
sends ahead stays in the kernel beyond a small bound, and while a peer does not read its replies nothing more is read
from it: so memory per connection is bounded by one request, one reply and two small buffers, whatever the peer does.
All connections together are bounded too: beyond the totals of `ListenerLimits` the one that holds most is closed, and a
peer that takes nothing of its reply is not waited for for ever. Callers may not assume that a connection they hold is
still open; replying to a closed one does nothing.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import socket
import sys
import termios
from collections.abc import Callable
from typing import Final, Protocol, cast

from controller_runtime.network.frames import BadFrame, FrameBuffer, whole_frame
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

READ_AHEAD_BYTES: Final = 64 * 1024
"""How much of later requests is held while one is in progress, before the peer is told to wait."""
UNSENT_REPLY_BYTES: Final = 64 * 1024
"""How much of a reply may still wait for the peer before its next request is taken up."""
LARGE_BYTES: Final = 256 * 1024
"""Of requests and replies whose memory is worth giving back."""
WATCH_SECONDS: Final = 1.0
"""How often it is looked whether peers take their replies, while some have more than UNSENT_REPLY_BYTES to take."""
_NO_CONNECTION: Final = 2**31 - 1


class FrameHandler(Protocol):
    """Who answers. Every frame is followed by exactly one `reply`, `finish` or `close` on its connection."""

    def connection_opened(self, connection: ServerConnection) -> None: ...

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None: ...

    def connection_closed(self, connection: ServerConnection) -> None: ...


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    max_frame_bytes: int = 104857600
    max_idle_seconds: float = 600.0
    max_connections: int = _NO_CONNECTION
    max_connections_per_address: int = _NO_CONNECTION
    backlog: int = 50
    receive_buffer_bytes: int | None = None
    send_buffer_bytes: int | None = None
    max_collected_bytes: int = 256 << 20
    """Of requests that have not come whole yet or wait behind another, of all connections together (Kafka:
    queued.max.request.bytes).
    """
    max_unsent_bytes: int = 128 << 20
    """Of replies that peers have not taken yet, all together. Beyond it nothing is read from disks for them, and
    patience is short; at twice as much the connection with most is closed at once."""
    stalled_seconds: float = 60.0
    """A peer that takes nothing of its reply for so long is given up: longer than a network's hiccup. One that takes
    little by little is not.
    """
    stalled_seconds_when_full: float = 3.0
    """The same while `max_unsent_bytes` are reached, because others wait."""


class ServerConnection(asyncio.Protocol):
    """One accepted connection."""

    __slots__ = (
        "_advance_scheduled",
        "_frames",
        "_listener",
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
    )

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._frames = FrameBuffer(listener.limits.max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._reading_paused = False
        self._writing_paused = False
        self._advance_scheduled = False
        self._unsent_seen = 0
        self._taken_at = 0.0
        self.busy = False
        self.connection_id = 0
        self.last_activity = 0.0
        self.peer = "?"
        self.peer_address = b"\x7f\x00\x00\x01"

    @property
    def listener_name(self) -> str:
        return self._listener.name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNSENT_REPLY_BYTES, low=0)
        self.last_activity = self._listener.now()
        name = transport.get_extra_info("peername")
        if name:
            self.peer = f"{name[0]}:{name[1]}"
            self.peer_address = _packed(name[0])
        if not self._listener.admit(self):
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        listener = self._listener
        self.last_activity = listener.now()
        if not (self.busy or self._writing_paused or self._advance_scheduled or len(self._frames)):
            frame = whole_frame(data, listener.limits.max_frame_bytes)
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
        self._transport = None
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

    def close(self, reason: str) -> None:
        """End the connection; what it sent was wrong in a way that has no reply."""
        if self._transport is not None:
            log.info("closing the connection from %s on %s: %s", self.peer, self._listener.name, reason)
            self._drop_collected()
            self._transport.abort()

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
        untaken = self.unsent_bytes + self._in_kernel()
        if untaken != self._unsent_seen:
            self._taken_at = self.last_activity = now
        self._unsent_seen = untaken
        return now - self._taken_at

    def _in_kernel(self) -> int:
        """What the peer has not confirmed of what the kernel took: it takes a megabyte at a time, which a slow peer
        needs minutes for.
        """
        assert self._transport is not None, "asked of those that are open"
        own = self._transport.get_extra_info("socket")
        return int.from_bytes(fcntl.ioctl(own.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)

    def _drop_collected(self) -> None:
        self._listener.collected(self, -len(self._frames))
        self._frames.clear()

    def _schedule_advance(self) -> None:
        """One request per turn of the loop, so that a peer that sends many at once does not starve the others."""
        if self._advance_scheduled or self._transport is None or not (len(self._frames) or self._reading_paused):
            return
        self._advance_scheduled = True
        self._listener.loop.call_soon(self._advance_later)

    def _advance_later(self) -> None:
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


class Listener:
    """A named listening socket."""

    def __init__(self, name: str, handler: FrameHandler, limits: ListenerLimits) -> None:
        self.name = name
        self.handler = handler
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.connections: set[ServerConnection] = set()
        self.expired_connections = 0
        self.refused_connections = 0
        self.shed_connections = 0
        """Closed because all together held too much, or because their peers did not take their replies."""
        self.collected_bytes = 0
        self.on_room: Callable[[], None] | None = None
        """Called when peers have taken replies, or are gone."""
        self.unsent_bytes = 0
        """Of large replies that peers have not taken yet. The memory of a reply is held until its last byte is sent: so
        long all of it counts.
        """
        self.on_large: Callable[[], None] | None = None
        """Called when a large request was taken up or dropped, and when a large reply was written or is gone."""
        self._behind: dict[ServerConnection, int] = {}
        """Those whose peers had more than UNSENT_REPLY_BYTES to take and have not taken all; the others have little."""
        self._watch: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    def now(self) -> float:
        return self.loop.time()

    async def open(self, host: str, port: int) -> int:
        """Bind and accept; returns the bound port. Raises OSError with the address in its text."""
        listening = _bind(host, port, self.limits)
        self._server = await self.loop.create_server(
            lambda: ServerConnection(self), sock=listening, backlog=self.limits.backlog
        )
        self._schedule_sweep()
        return cast(int, listening.getsockname()[1])

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for timer in (self._sweep, self._watch):
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        self.stop_accepting()
        for connection in tuple(self.connections):
            connection.close_after_sending()

    def admit(self, connection: ServerConnection) -> bool:
        same = (
            sum(1 for other in self.connections if other.peer_address == connection.peer_address)
            if self._bounded
            else 0
        )
        if len(self.connections) >= self.limits.max_connections or same >= self.limits.max_connections_per_address:
            self.refused_connections += 1
            log.warning("refusing the connection from %s on %s: too many connections", connection.peer, self.name)
            return False
        self.connections.add(connection)
        self.handler.connection_opened(connection)
        return True

    def forget(self, connection: ServerConnection) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            self.caught_up(connection)
            self.handler.connection_closed(connection)

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

    @property
    def _bounded(self) -> bool:
        return self.limits.max_connections_per_address < _NO_CONNECTION

    def _schedule_sweep(self) -> None:
        self._sweep = self.loop.call_later(max(self.limits.max_idle_seconds / 4, 0.05), self._close_idle)

    def _close_idle(self) -> None:
        oldest = self.now() - self.limits.max_idle_seconds
        for connection in tuple(self.connections):
            if connection.is_idle and connection.last_activity < oldest:
                self.expired_connections += 1
                connection.close(f"idle for more than {self.limits.max_idle_seconds:g} s")
        self._schedule_sweep()


def _bind(host: str, port: int, limits: ListenerLimits) -> socket.socket:
    """A bound socket; without a host on every address, IPv6 and IPv4 in one where the machine has both."""
    if host in {"", "::"}:
        try:
            return _bind_one(socket.AF_INET6, "::", port, limits)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(error.errno, f"cannot listen on port {port}: {error.strerror}") from error
            host = "0.0.0.0"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _bind_one(family, str(address[0]), port, limits)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from error


def _bind_one(family: int, host: str, port: int, limits: ListenerLimits) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and host == "::":
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if limits.receive_buffer_bytes:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        if limits.send_buffer_bytes:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
        listening.setblocking(False)
        listening.bind((host, port))
    except BaseException:
        listening.close()
        raise
    return listening


def _packed(host: str) -> bytes:
    """4 or 16 bytes; an IPv4 peer of an IPv6 socket counts as IPv4."""
    if ":" not in host:
        return socket.inet_aton(host)
    packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    return packed[12:] if packed.startswith(bytes(10) + b"\xff\xff") else packed
