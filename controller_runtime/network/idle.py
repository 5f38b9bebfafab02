"""Connections whose peers are silent for too long end."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from typing import Protocol


class Peer(Protocol):
    @property
    def is_idle(self) -> bool: ...

    @property
    def last_activity(self) -> float: ...

    def close(self, reason: str) -> None: ...


class IdleSweep:
    def __init__(self, loop: asyncio.AbstractEventLoop, peers: AbstractSet[Peer], max_idle_seconds: float) -> None:
        self.expired = 0
        self._loop = loop
        self._peers = peers
        self._max_idle_seconds = max_idle_seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(max(self._max_idle_seconds / 4, 0.05), self._sweep)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _sweep(self) -> None:
        oldest = self._loop.time() - self._max_idle_seconds
        for peer in tuple(self._peers):
            if peer.is_idle and peer.last_activity < oldest:
                self.expired += 1
                peer.close(f"idle for more than {self._max_idle_seconds:g} s")
        self.start()
