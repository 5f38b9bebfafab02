"""A rate over the last seconds, as Apache Kafka measures one (its `Rate` of a `WindowedSum`), and how long it takes to
fall.

What happened is summed up in samples of one window each; a sample that has seen nothing for all windows counts no more.
While fewer windows have passed than there are samples, it is as if they had, so that the first event is no burst; a
rate that counts from when it began (its `SimpleRate`) is one of a window at least.
"""

from __future__ import annotations

from math import floor, inf
from typing import Final

from controller_runtime.values import dataclass

LONGEST_MS: Final = 2**31 - 1
"""What an answer can say."""


@dataclass(slots=True)
class _Sample:
    began_ms: int
    last_ms: int
    amount: float = 0.0

    def begin(self, now_ms: int) -> None:
        self.began_ms = self.last_ms = now_ms
        self.amount = 0.0


class SampledRate:
    __slots__ = ("_count", "_current", "_from_its_beginning", "_samples", "_window_ms")

    def __init__(self, count: int, window_ms: int, *, from_its_beginning: bool = False) -> None:
        """`count` samples are kept, `quota.window.num`, each of `quota.window.size.seconds`."""
        self._from_its_beginning = from_its_beginning
        self._count = count
        self._window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, amount: float, now_ms: int) -> None:
        if not self._samples:
            self._samples.append(_Sample(now_ms, now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.began_ms >= self._window_ms:
            sample = self._next(now_ms)
        sample.amount += amount
        sample.last_ms = now_ms

    def per_second(self, now_ms: int) -> float:
        self._forget(now_ms)
        return sum(sample.amount for sample in self._samples) / (self.span_ms(now_ms) / 1000)

    def wait_ms(self, bound: float, now_ms: int) -> int:
        """Until the rate is `bound` again, if nothing more happens; 0: it is not above."""
        rate = self.per_second(now_ms)
        if rate <= bound:
            return 0
        wanted = (rate - bound) / bound * self.span_ms(now_ms) if bound > 0 else inf
        return floor(min(wanted + 0.5, LONGEST_MS))

    def is_idle(self, now_ms: int) -> bool:
        """Nothing that it knows counts any more."""
        return all(now_ms - sample.last_ms >= self._count * self._window_ms for sample in self._samples)

    def span_ms(self, now_ms: int) -> int:
        """The time that the rate is taken over."""
        self._forget(now_ms)
        passed = now_ms - min((sample.began_ms for sample in self._samples), default=now_ms)
        if self._from_its_beginning:
            return max(passed, self._window_ms)
        missing = self._count - 1 - passed // self._window_ms
        return max(passed + max(missing, 0) * self._window_ms, 1)

    def _next(self, now_ms: int) -> _Sample:
        """One sample more than counts is kept: the oldest one goes on counting while the newest one fills."""
        self._current = (self._current + 1) % (self._count + 1)
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms, now_ms))
        else:
            self._samples[self._current].begin(now_ms)
        return self._samples[self._current]

    def _forget(self, now_ms: int) -> None:
        for sample in self._samples:
            if now_ms - sample.last_ms >= self._count * self._window_ms:
                sample.begin(now_ms)
