"""An accepted connection: requests in, one at a time, and replies out.

As in Apache Kafka a connection has one request in progress; the next is taken up when the reply has left. What a peer
sends ahead stays in the kernel beyond a small bound, and while a peer does not read its replies nothing more is read
from it: so memory per connection is bounded by one request, one reply and two small buffers, whatever the peer does.
Callers may not assume that a connection they hold is still open; replying to a closed one does nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol, cast

from controller_runtime.network.binding import packed_address
from controller_runtime.network.frames import BadFrame, FrameBuffer, whole_frame
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.network.unconfirmed import unconfirmed_bytes
from controller_runtime.security.protocols import ANONYMOUS

log = logging.getLogger(__name__)

READ_AHEAD_BYTES: Final = 64 * 1024
"""How much of later requests is held while one is in progress, before the peer has to wait."""
UNSENT_REPLY_BYTES: Final = 64 * 1024
"""How much of a reply may still wait for the peer before its next request is taken up."""
LARGE_BYTES: Final = 256 * 1024
"""Of requests and replies whose memory is worth giving back."""


class FrameHandler(Protocol):
    """Who answers. Every frame is followed by exactly one `reply`, `finish` or `close` on its connection."""

    def connection_opened(self, connection: ServerConnection) -> None: ...

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None: ...

    def connection_closed(self, connection: ServerConnection) -> None: ...


class Accepting(Protocol):
    """The listener that accepted a connection."""

    name: str
    limits: ListenerLimits
    handler: FrameHandler
    loop: asyncio.AbstractEventLoop

    def now(self) -> float: ...

    def admit(self, connection: ServerConnection) -> bool:
        """May it stay?"""
        ...

    def enter(self, connection: ServerConnection) -> None:
        """It takes part."""
        ...

    def turned_away(self, connection: ServerConnection, why: str) -> None:
        """It waited, and is not let in."""
        ...

    def forget(self, connection: ServerConnection) -> None:
        """It ended."""
        ...

    def collected(self, connection: ServerConnection, more: int) -> None:
        """It holds so many bytes of requests more."""
        ...

    def used_much(self) -> None:
        """A large request or reply is done with."""
        ...

    def fell_behind(self, connection: ServerConnection, unsent: int) -> None:
        """Its peer has so many bytes of replies to take."""
        ...

    def caught_up(self, connection: ServerConnection) -> None:
        """Its peer has taken everything."""
        ...


class ServerConnection(asyncio.Protocol):
    """One accepted connection."""

    __slots__ = (
        "_advance_scheduled",
        "_frames",
        "_held",
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

    def __init__(self, listener: Accepting) -> None:
        self._listener = listener
        self._frames = FrameBuffer(listener.limits.max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._reading_paused = False
        self._writing_paused = False
        self._advance_scheduled = False
        self._held = False
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
        if not (self._waits or self._advance_scheduled or len(self._frames)):
            frame = whole_frame(data, self._frames.max_frame_bytes)
            if frame is not None and self._transport is not None and not self._transport.is_closing():
                self.busy = True
                listener.handler.frame_received(self, frame)
                return
        self._frames.feed(data)
        listener.collected(self, len(data))
        if not self._advance_scheduled:
            self._advance()
        if len(self._frames) > READ_AHEAD_BYTES and (self._waits or self._advance_scheduled):
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
        self._held = True

    def let_in(self) -> None:
        """It may take part. One whose handshake goes on does so when that is done."""
        if self._transport is not None:
            self.last_activity = self._listener.now()
            self._listener.enter(self)
            self.release()

    def turn_away(self, why: str) -> None:
        self._listener.turned_away(self, why)
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
        self._listener.loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._advance_scheduled = False
        self._advance()

    def release(self) -> None:
        """End a `hold`: what it sent is taken up from the next turn of the loop on."""
        self._held = False
        self._schedule_advance()

    @property
    def _waits(self) -> bool:
        """No request of it may be taken up."""
        return self.busy or self._held or self._writing_paused

    def _advance(self) -> None:
        if self._waits or self._transport is None or self._transport.is_closing():
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
