"""Frames out, answers in: many connections to each listener, each with several requests under way, and what became of
every frame.

A node takes a connection's requests in order. So an answer settles the frames before it (those want none), and a
connection that is closed was closed by the first unsettled frame; those behind it go out anew. What nobody answers for
`HELD_SECONDS` is given up as held.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from support.fuzz.shots import Shot, Target, fill

LANES: Final = {Target.BROKER: 8, Target.COMBINED_BROKER: 4}
OTHER_LANES: Final = 3
WINDOW: Final = 12
"""Requests under way on one connection."""
HELD_SECONDS: Final = 2.0
LINGER_SECONDS: Final = 0.05
"""So long bytes that are no frame may wait for an answer."""
RECENT: Final = 60
CONNECT_SECONDS: Final = 10.0


class Outcome(StrEnum):
    ANSWERED = "answered"
    CLOSED = "closed"
    SILENT = "silent"
    HELD = "held"
    LOST = "lost"
    """The node does not take connections."""


Settled = Callable[[Shot, Outcome, bytes], None]


class Lanes:
    """To all listeners. `settled` is called once for each frame; `bytes` is the answer without its length."""

    def __init__(self, ports: dict[Target, int], settled: Settled) -> None:
        self.ports = ports
        self.ids: dict[Target, dict[bytes, bytes]] = {}
        """What the placeholders stand for, at each listener."""
        self.under_way: dict[int, Shot] = {}
        """By number: what was sent and is not settled. When a node ends, one of these did it."""
        self.open: set[asyncio.Transport] = set()
        self.closed_upon: deque[Shot] = deque(maxlen=RECENT)
        """The newest frames that ended their connection: when a node ends, it closes upon the guilty one."""
        self._settled = settled
        self._queues: dict[Target, deque[Shot]] = {target: deque() for target in Target}

    async def send(self, shots: Iterable[Shot]) -> None:
        """Send them all, and wait until each is settled."""
        for each in shots:
            self._queues[each.target].append(each)
        lanes = [
            asyncio.ensure_future(self._lane(target))
            for target, queue in self._queues.items()
            for _ in range(min(LANES.get(target, OTHER_LANES), len(queue)))
        ]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            for transport in tuple(self.open):
                transport.abort()
            while self.open:
                await asyncio.sleep(0)

    def settle(self, shot: Shot, outcome: Outcome, answer: bytes = b"") -> None:
        self.under_way.pop(shot.number, None)
        if outcome is Outcome.CLOSED:
            self.closed_upon.append(shot)
        self._settled(shot, outcome, answer)

    async def _lane(self, target: Target) -> None:
        queue = self._queues[target]
        while queue:
            if not queue[0].is_frame:
                await self._unframed(queue.popleft())
                continue
            lane = await self._connect(target, queue)
            if lane is not None:
                await lane.run()

    async def _connect(self, target: Target, queue: deque[Shot]) -> Lane | None:
        loop = asyncio.get_running_loop()
        try:
            connecting = loop.create_connection(lambda: Lane(self, queue), "127.0.0.1", self.ports[target])
            _, lane = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        except (OSError, TimeoutError):
            if queue:
                self.settle(queue.popleft(), Outcome.LOST)
            return None
        return lane

    async def _unframed(self, shot: Shot) -> None:
        self.under_way[shot.number] = shot
        outcome = Outcome.SILENT
        try:
            opening = asyncio.open_connection("127.0.0.1", self.ports[shot.target])
            reader, writer = await asyncio.wait_for(opening, CONNECT_SECONDS)
        except (OSError, TimeoutError):
            self.settle(shot, Outcome.LOST)
            return
        try:
            writer.write(fill(shot.payload, self.ids.get(shot.target, {})))
            got = await asyncio.wait_for(reader.read(1), LINGER_SECONDS)
            outcome = Outcome.ANSWERED if got else Outcome.CLOSED
        except TimeoutError:
            pass
        except OSError:
            outcome = Outcome.CLOSED
        finally:
            writer.transport.abort()
        self.settle(shot, outcome)


class Lane(asyncio.Protocol):
    """One connection, until its queue is empty or it ends."""

    def __init__(self, lanes: Lanes, queue: deque[Shot]) -> None:
        self._lanes = lanes
        self._queue = queue
        self._out: deque[Shot] = deque()
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._gave_up = False

    async def run(self) -> None:
        await self._done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._lanes.open.add(transport)
        self._push()

    def _push(self) -> None:
        """Fill the window; end when there is nothing left."""
        queue, out, parts = self._queue, self._out, []
        while queue and queue[0].is_frame and len(out) < WINDOW:
            shot = queue.popleft()
            out.append(shot)
            self._lanes.under_way[shot.number] = shot
            parts.append(fill(shot.wire, self._lanes.ids.get(shot.target, {})))
        if parts and self._transport is not None:
            self._transport.writelines(parts)
        if self._timer is not None:
            self._timer.cancel()
        if out:
            self._timer = asyncio.get_running_loop().call_later(HELD_SECONDS, self._give_up)
        elif self._transport is not None:
            self._transport.close()

    def _give_up(self) -> None:
        """Nothing came for long: the first may want no answer, or wait for something."""
        if self._out:
            self._gave_up = True
            self._lanes.settle(self._out.popleft(), Outcome.HELD)
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        held = self._held
        held += data
        while len(held) >= 8:
            end = 4 + int.from_bytes(held[:4], "big")
            if len(held) < end:
                break
            answer = bytes(held[4:end])
            del held[:end]
            self._answered(answer)
        self._push()

    def _answered(self, answer: bytes) -> None:
        """By its correlation id, if a frame under way has it: those before it want no answer. Else it is the first
        one's.
        """
        correlation = int.from_bytes(answer[:4], "big")
        if any(shot.number == correlation for shot in self._out):
            while self._out[0].number != correlation:
                self._lanes.settle(self._out.popleft(), Outcome.SILENT)
        if self._out:
            self._lanes.settle(self._out.popleft(), Outcome.ANSWERED, answer)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._transport is not None:
            self._lanes.open.discard(self._transport)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        if self._out and not self._gave_up:
            self._lanes.settle(self._out.popleft(), Outcome.CLOSED)
        for shot in reversed(self._out):
            self._lanes.under_way.pop(shot.number, None)
            self._queue.appendleft(shot)
        if not self._done.done():
            self._done.set_result(None)
