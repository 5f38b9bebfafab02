"""Connections to the nodes, kept from look to look: one pool for the controllers of a cluster that run, one for its
brokers.

All of them live in one event loop, in a thread of its own; workers hand it their questions and wait. A pool that nobody
asked for a while is closed: of a cluster that is gone, of a set of nodes that is another one by now. A connection that
ended, or whose answer was overdue, is made anew by the next question.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Coroutine
from typing import Any, Final, TypeVar

from controller_runtime.admin.client import AdminClient
from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity

T = TypeVar("T")
IDLE_SECONDS: Final = 120.0
"""Longer than the longest pause between two looks at a cluster."""
CLOSING_SECONDS: Final = 5.0

Nodes = tuple[bool, frozenset[Endpoint], ListenerSecurity]
"""Whether they are controllers, where they are, and how they are reached: another certificate is another client."""


class Pools:
    """`run` is for any thread, the rest for what runs in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._kept: dict[Nodes, tuple[AdminClient, float]] = {}

    def run(self, question: Coroutine[Any, Any, T]) -> T:
        """Wait for the answer; the question has a deadline of its own."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="questions", daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()

    async def controllers(
        self, endpoints: Collection[Endpoint], seconds: float, security: ListenerSecurity
    ) -> AdminClient:
        """`seconds` is how long a question may take that does not say otherwise."""
        return (await self._client((True, frozenset(endpoints), security))).with_timeout(seconds)

    async def brokers(self, endpoints: Collection[Endpoint], seconds: float, security: ListenerSecurity) -> AdminClient:
        return (await self._client((False, frozenset(endpoints), security))).with_timeout(seconds)

    def close(self) -> None:
        """Close every connection and end the thread. Who asks again begins anew."""
        if self._loop is None or self._thread is None:
            return
        self.run(self._close(list(self._kept)))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_SECONDS)
        self._loop.close()
        self._loop = self._thread = None

    async def _client(self, nodes: Nodes) -> AdminClient:
        now = asyncio.get_running_loop().time()
        known = self._kept.get(nodes)
        client = known[0] if known is not None else _made(*nodes)
        self._kept[nodes] = client, now
        await self._close([each for each, (_, asked) in self._kept.items() if now - asked > IDLE_SECONDS])
        return client

    async def _close(self, unused: Collection[Nodes]) -> None:
        for client, _ in [self._kept.pop(each) for each in unused]:
            await client.close()


def _made(controllers: bool, endpoints: Collection[Endpoint], security: ListenerSecurity) -> AdminClient:
    if controllers:
        return AdminClient(bootstrap_controllers=sorted(endpoints, key=str), security=security)
    return AdminClient(bootstrap_servers=sorted(endpoints, key=str), security=security)
