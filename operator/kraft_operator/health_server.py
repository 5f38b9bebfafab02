"""`/livez`, `/readyz` and `/metrics` in a thread and loop of their own, apart from kopf's loop, which cancels what it
does not know.

Liveness fails when a part that should beat has not beaten for too long. A loop of its own answers for it, so a stuck
worker or a stuck kopf is noticed and not waited for. Readiness holds for the leader and for a standby alike: both do
what they should.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

from kraft_operator.metrics import CONTENT_TYPE, Metrics

STALE_AFTER: Final = 120.0
BEAT_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 5.0
"""How long the thread may take to end; as a daemon it never keeps the process."""


class Heartbeats:
    """Parts that must show signs of life: from the first beat on, or only while they work. Events are no sign of life:
    there may be none.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}

    def beat(self, part: str) -> None:
        self._last[part] = self._clock()

    @contextmanager
    def working(self, part: str) -> Iterator[None]:
        """A piece of work that has to end within the time of one beat; between two pieces nobody waits for a sign."""
        self.beat(part)
        try:
            yield
        finally:
            self._last.pop(part, None)

    async def keep_beating(self, part: str) -> None:
        """As long as the loop that runs this turns."""
        while True:
            self.beat(part)
            await asyncio.sleep(BEAT_SECONDS)

    def stale(self) -> list[str]:
        now = self._clock()
        return sorted(part for part, last in dict(self._last).items() if now - last > STALE_AFTER)


class HealthServer:
    def __init__(self, port: int, heartbeats: Heartbeats, metrics: Metrics, ready: Callable[[], bool]) -> None:
        """Binds at once, so that a port in use ends the start; OSError names it. Port 0 takes a free one."""
        self._heartbeats = heartbeats
        self._metrics = metrics
        self._ready = ready
        self._socket = _bind(port)
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes(
            [web.get("/livez", self._live), web.get("/readyz", self._is_ready), web.get("/metrics", self._all)]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, self._socket).start()
        await self._stopping.wait()
        await runner.cleanup()

    async def _live(self, _: web.Request) -> web.Response:
        stale = self._heartbeats.stale()
        if stale:
            return web.Response(status=500, text=f"no sign of life: {', '.join(stale)}\n")
        return web.Response(text="ok\n")

    async def _is_ready(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n") if self._ready() else web.Response(status=503, text="starting\n")

    async def _all(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render().encode(), headers={"Content-Type": CONTENT_TYPE})


def _bind(port: int) -> socket.socket:
    """A listening socket on every address: IPv6 and IPv4 in one where the machine has both."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))
