"""The accepting side: a listening socket and its connections.

All connections together are bounded: beyond the totals of `ListenerLimits` the one that holds most is closed, and a
peer that takes nothing of its reply is not waited for for ever. How many there may be is `connection_quotas`' to say;
what one may hold is the connection's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from controller_runtime.network.binding import bind
from controller_runtime.network.connection import LARGE_BYTES, FrameHandler, ServerConnection
from controller_runtime.network.connection_quotas import Admission, ConnectionQuotas
from controller_runtime.network.idle import IdleSweep
from controller_runtime.network.listener_limits import ListenerLimits

if TYPE_CHECKING:
    from controller_runtime.network.handshakes import Handshake

log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 1.0
"""How often it is looked whether peers take their replies, while some have more than UNSENT_REPLY_BYTES to take."""


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

    def turned_away(self, connection: ServerConnection, why: str) -> None:
        """A connection that waited to be let in."""
        self.refused_connections += 1
        for handshake in [one for one in self.handshakes if one.connection is connection]:
            handshake.end(why)

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
