"""What a step of a node costs in virtual time, so that a long one delays heartbeats and votes as a real one would.

A step is charged by what it really does: by the calls that it makes, Python's and C's, counted by the interpreter. A
count is the same in every run and on every machine, and no work can be forgotten: records decided, encoded, replayed
and appended, partitions looked at, answers made. `python -m benchmarks.steps` measures the same work in processor time;
of 20,000 partitions that are created, fenced, unfenced, handed over or taken out it says 79 to 103 ns for each event
that is counted here (a call and a return are two).
"""

from __future__ import annotations

from _lsprof import Profiler
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

Result = TypeVar("Result")
EVENT_S: Final = 100e-9


class Processor:
    """One for all machines of a world: each machine has one of its own, they are only counted here."""

    def __init__(self, scale: float = 1.0) -> None:
        """`scale`: how many times as slow as the one that was measured."""
        self._event_s = EVENT_S * scale
        self.longest_s = 0.0
        """The longest step of any node."""
        self._events = count()
        # The profiler asks for the time at each call and at each return: what it is given counts them.
        self._profiler = Profiler(self._events.__next__, 1.0, False, True)

    def measured(self, work: Callable[[], Result]) -> tuple[Result, float]:
        """What it gave, and how long it took."""
        before = next(self._events)
        self._profiler.enable()
        try:
            result = work()
        finally:
            self._profiler.disable()
            self._profiler.clear()
        seconds = (next(self._events) - before) * self._event_s
        self.longest_s = max(self.longest_s, seconds)
        return result, seconds
