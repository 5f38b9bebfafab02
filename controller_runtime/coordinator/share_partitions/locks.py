"""Acquisition locks: a member has so long to say what became of records that it was given."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from controller_runtime.identifiers import Instant
from controller_runtime.values import dataclass

_FEW: Final = 64
"""Ended locks up to here are not worth clearing away."""


@dataclass(slots=True, eq=False)
class Lock:
    deadline: Instant
    first: int
    last: int
    is_over: bool = False
    """Its records were acknowledged, or it was renewed."""
    has_expired: bool = False


class Locks:
    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Lock]] = []
        self._last = 0
        self._live = 0

    def begin(self, deadline: Instant, first: int, last: int) -> Lock:
        lock = Lock(deadline, first, last)
        self._last += 1
        self._live += 1
        heappush(self._heap, (deadline, self._last, lock))
        return lock

    def end(self, lock: Lock) -> None:
        if not lock.is_over and not lock.has_expired:
            self._live -= 1
        lock.is_over = True
        if len(self._heap) > _FEW + 2 * self._live:
            self._heap = [each for each in self._heap if not each[2].is_over]
            heapify(self._heap)
        while self._heap and self._heap[0][2].is_over:
            heappop(self._heap)

    def next_deadline(self) -> Instant | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now: Instant) -> list[Lock]:
        """They have expired."""
        found: list[Lock] = []
        while self._heap and self._heap[0][0] <= now:
            lock = heappop(self._heap)[2]
            if not lock.is_over:
                lock.has_expired = True
                self._live -= 1
                found.append(lock)
        return found
