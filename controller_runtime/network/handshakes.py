"""Accepted connections that are not encrypted yet: who may begin a handshake, when, and until when it must be done.

A connection waits, unread beyond a bound, until its whole first record is there; who sends none, or something that is
no TLS, costs nothing but his place. Then handshakes begin one a turn of the loop, each with its first record at hand:
however many come at once, what waits for the loop waits for the arithmetic of one. Every handshake ends within
HANDSHAKE_SECONDS of its connection, one way or the other, and of those that have begun and do not end no more than
MAX_UNFINISHED are held: the oldest makes room.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from typing import Final, Protocol, cast

from controller_runtime.network.tls import HANDSHAKE_SECONDS, SHUTDOWN_SECONDS, handshake_fault

log = logging.getLogger(__name__)

MAX_UNFINISHED: Final = 256
_RECORD_HEADER: Final = 5
_MAX_RECORD: Final = 16384 + 2048
_HANDSHAKE: Final = 0x16


class Securing(Protocol):
    """The listener that accepted the connection."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    @property
    def context(self) -> ssl.SSLContext:
        """That new connections are secured by."""
        ...

    def new_connection(self) -> asyncio.Protocol:
        """What the encrypted bytes are for."""
        ...

    def accepted(self, handshake: Handshake) -> bool:
        """May it stay?"""
        ...

    def secured(self, handshake: Handshake, transport: asyncio.Transport) -> None: ...

    def unsecured(self, handshake: Handshake, why: str) -> None:
        """It ended without being secured."""
        ...


class _Buffered(Protocol):
    """`asyncio.BufferedProtocol`, which the protocols behind `start_tls` are on every loop."""

    def get_buffer(self, sizehint: int) -> memoryview: ...

    def buffer_updated(self, nbytes: int) -> None: ...


class Handshake(asyncio.Protocol):
    """One accepted connection until it is secured."""

    def __init__(self, listener: Securing, gate: HandshakeGate) -> None:
        self._listener = listener
        self._gate = gate
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._queued = False
        self._over = False
        self.peer = "?"
        self.address = ""
        self.connection = listener.new_connection()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        if name:
            self.peer, self.address = f"{name[0]}:{name[1]}", name[0]
        if not self._listener.accepted(self):
            self._over = True
            self._transport.abort()
            return
        self._deadline = self._listener.loop.call_later(HANDSHAKE_SECONDS, self.end, "no handshake in time")

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._queued or self._over:
            return
        size = int.from_bytes(self._received[3:5], "big")
        if self._received[0] != _HANDSHAKE or (len(self._received) >= _RECORD_HEADER and size > _MAX_RECORD):
            self.end("it does not begin as TLS does")
        elif len(self._received) >= _RECORD_HEADER + size and len(self._received) >= _RECORD_HEADER:
            self._queued = True
            assert self._transport is not None
            self._transport.pause_reading()
            self._gate.queue(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end("it left" if exc is None else handshake_fault(exc))

    def begin(self) -> bool:
        """False: it is over already."""
        if self._over:
            return False
        assert self._transport is not None
        loop = self._listener.loop
        self._task = loop.create_task(self._secure(self._transport))
        loop.call_soon(self._hand_over, self._transport)
        return True

    def _hand_over(self, transport: asyncio.Transport) -> None:
        """What was read goes to the protocol that `start_tls` has put in our place."""
        if transport.is_closing() or transport.get_protocol() is self:
            return
        protocol = cast(_Buffered, transport.get_protocol())
        data, self._received = memoryview(bytes(self._received)), bytearray()
        while data:
            room = memoryview(protocol.get_buffer(len(data)))
            count = min(len(room), len(data))
            room[:count] = data[:count]
            protocol.buffer_updated(count)
            data = data[count:]

    async def _secure(self, transport: asyncio.Transport) -> None:
        try:
            secured = await self._listener.loop.start_tls(
                transport,
                self.connection,
                self._listener.context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except (OSError, TimeoutError, asyncio.CancelledError) as error:
            self.end(handshake_fault(error))
            return
        if self._over or secured is None or secured.is_closing():
            transport.abort()
            self.end("it left")
            return
        self._finish()
        self._listener.secured(self, secured)

    def end(self, why: str) -> None:
        if self._over:
            return
        self._finish()
        if self._transport is not None:
            self._transport.abort()
        self._listener.unsecured(self, why)

    def _finish(self) -> None:
        self._over = True
        self._gate.done(self)
        if self._deadline is not None:
            self._deadline.cancel()


class HandshakeGate:
    """Lets handshakes begin, one a turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Handshake] = deque()
        self._unfinished: dict[Handshake, None] = {}
        self._turn_due = False

    def queue(self, handshake: Handshake) -> None:
        self._waiting.append(handshake)
        self._await_turn()

    def done(self, handshake: Handshake) -> None:
        self._unfinished.pop(handshake, None)

    def _await_turn(self) -> None:
        if self._waiting and not self._turn_due:
            self._turn_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_due = False
        while self._waiting:
            handshake = self._waiting.popleft()
            if handshake.begin():
                self._unfinished[handshake] = None
                break
        if len(self._unfinished) > MAX_UNFINISHED:
            next(iter(self._unfinished)).end("too many others have not finished theirs either")
        self._await_turn()
