"""Deadlines by key: the coordinator tells the next one, and is told when it has come.

A key has one deadline at most; to schedule it again moves it. Deadlines that were moved or cancelled stay in the heap
until they come up, or until they are most of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from controller_runtime.identifiers import Instant

Key = TypeVar("Key", bound=Hashable)
_FEW: Final = 64
"""Outdated entries up to here are not worth clearing away."""


class Timers(Generic[Key]):
    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Key]] = []
        self._valid: dict[Key, int] = {}
        """Of each key the number of its entry."""
        self._last = 0

    def __len__(self) -> int:
        return len(self._valid)

    def __contains__(self, key: Key) -> bool:
        return key in self._valid

    def schedule(self, key: Key, at: Instant) -> None:
        self._last += 1
        self._valid[key] = self._last
        heappush(self._heap, (at, self._last, key))
        if len(self._heap) > _FEW + 2 * len(self._valid):
            self._heap = [entry for entry in self._heap if self._valid.get(entry[2]) == entry[1]]
            heapify(self._heap)

    def cancel(self, key: Key) -> None:
        self._valid.pop(key, None)

    def next_deadline(self) -> Instant | None:
        heap, valid = self._heap, self._valid
        while heap and valid.get(heap[0][2]) != heap[0][1]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take_due(self, now: Instant) -> Key | None:
        """One key whose deadline has come; it has none any more."""
        at = self.next_deadline()
        if at is None or at > now:
            return None
        key = heappop(self._heap)[2]
        del self._valid[key]
        return key
