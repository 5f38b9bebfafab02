"""A queue of keys: each at most once, each worked on by one worker at a time, failures later and later.

Adding a key that waits changes nothing, adding one that is being worked on runs it once more afterwards; so a storm of
events becomes one reconcile. Bounded by the number of clusters. Thread-safe: the event loop of kopf adds, worker
threads take. Time and jitter are given.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from typing import Final

from kraft_operator.keys import Key
from kraft_operator.metrics import Metrics

FIRST_BACKOFF: Final = 0.5
MAX_BACKOFF: Final = 300.0


class WorkQueue:
    def __init__(self, clock: Callable[[], float], jitter: Callable[[], float], metrics: Metrics) -> None:
        """`jitter` gives numbers in [0, 1)."""
        self._clock, self._jitter, self._metrics = clock, jitter, metrics
        self._changed = threading.Condition()
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []
        self._working: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._closed = False

    def add(self, key: Key, after: float = 0.0) -> None:
        """Due in `after` seconds, or earlier if it is due earlier already."""
        with self._changed:
            due = self._clock() + after
            if key in self._due and self._due[key] <= due:
                return
            self._metrics.add("kraft_operator_workqueue_adds_total")
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))
            self._metrics.set("kraft_operator_workqueue_depth", len(self._due))
            self._changed.notify()

    def take(self) -> Key | None:
        """Wait for a key that is due and not being worked on; None when the queue was closed."""
        with self._changed:
            while not self._closed:
                key, wait = self._next()
                if key is not None:
                    return key
                self._changed.wait(wait)
            return None

    def done(self, key: Key, again_after: float | None) -> None:
        """The work succeeded: forget its failures, and look again after a while if asked to."""
        with self._changed:
            self._failures.pop(key, None)
            self._finish(key)
        if again_after is not None:
            self.add(key, again_after * (0.9 + 0.2 * self._jitter()))

    def failed(self, key: Key, at_least: float = 0.0) -> float:
        """The work failed; returns the seconds until its next attempt."""
        with self._changed:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            self._finish(key)
        self._metrics.add("kraft_operator_workqueue_retries_total")
        backoff = min(MAX_BACKOFF, FIRST_BACKOFF * float(1 << min(count - 1, 20)))
        wait = max(at_least, backoff * (0.5 + 0.5 * self._jitter()))
        self.add(key, wait)
        return wait

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _next(self) -> tuple[Key | None, float | None]:
        now = self._clock()
        held: list[tuple[float, Key]] = []
        found: Key | None = None
        while self._heap and self._heap[0][0] <= now and found is None:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) != due:
                continue  # superseded by an earlier time
            if key in self._working:
                held.append((due, key))
            else:
                found = key
        for item in held:
            heapq.heappush(self._heap, item)
        if found is None:
            later = [due for due, key in self._heap if key not in self._working]
            return None, max(0.0, min(later) - now) if later else None
        del self._due[found]
        self._working.add(found)
        self._metrics.set("kraft_operator_workqueue_depth", len(self._due))
        return found, None

    def _finish(self, key: Key) -> None:
        self._working.discard(key)
        self._changed.notify_all()
