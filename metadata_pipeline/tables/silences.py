"""When nobody was in charge of a quorum: steps of time between a record and the one before it, less what was a clock's.

A step forward is a silence, or a leader whose clock is ahead, or one whose clock was behind and is no more. Only a
silence is never taken back: where a clock was wrong the log goes back in time, before the step or after it, and by as
much. So each step back is explained by the step forward that fits it best (or by two, of two leaders that were wrong,
one after the other), and what is left of a step forward is the silence. Nothing in a log tells a clock that is ahead
for good from a silence; the time of who asks does, while it is ahead. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Final

IDLE_MS: Final = 500
"""An active controller writes a NoOp so often: so long is it between two records when all is well."""
NEAR: Final = 32
"""A clock that is wrong is right again within so many steps."""
_ALIKE_MS: Final = 60_000
"""Steps that fit better than this fit alike: elections lie between two leaders with two clocks."""


@dataclass(frozen=True, slots=True)
class Step:
    """From the record before to the one at `offset`, in milliseconds; None: there is none before."""

    cluster: str
    stretch: int
    offset: int
    epoch: int
    time_ms: int
    step_ms: int | None


@dataclass(frozen=True, slots=True)
class Silence:
    """`offset`: of the first record after it. `begin_ms`: what the last record before it says."""

    cluster: str
    offset: int
    epoch: int
    begin_ms: int
    lasted_ms: int


def steps_sql(longer_than_ms: int, of: str = "true") -> str:
    """Steps that are longer, forward or back, and the last record of each stretch; of rows that `of` chooses. Those of
    a metadata transaction that was given up count: they say that somebody was in charge.
    """
    window = "OVER (PARTITION BY cluster_id, stretch ORDER BY offset)"
    return f"""
SELECT cluster_id, stretch, offset, epoch, at, step FROM (
  SELECT cluster_id, stretch, offset, epoch, at, at - lag(at) {window} AS step, lead(at) {window} IS NULL AS is_last
  FROM (SELECT cluster_id, stretch, offset, epoch, unix_millis(timestamp) AS at FROM log_records
        WHERE {of} AND timestamp IS NOT NULL))
WHERE abs(step) > {longer_than_ms} OR is_last"""


def steps_of(rows: Iterable[Any]) -> list[Step]:
    """The rows of `steps_sql`."""
    return [
        Step(row["cluster_id"], row["stretch"], row["offset"], row["epoch"], time_ms=row["at"], step_ms=row["step"])
        for row in rows
    ]


def silences(steps: Iterable[Step], longer_than_ms: int, now_ms: int) -> list[Silence]:
    """Those of each cluster, the longest first. `now_ms`: no record is later."""
    logs: dict[str, dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for step in steps:
        logs[step.cluster][step.stretch].append(step)
    found = [
        silence
        for _, stretches in sorted(logs.items())
        for number, of_stretch in stretches.items()
        for silence in _of_stretch(of_stretch, longer_than_ms, now_ms if number == max(stretches) else None)
    ]
    return sorted(found, key=lambda it: (it.cluster, -it.lasted_ms, it.offset))


def _of_stretch(steps: list[Step], longer_than_ms: int, now_ms: int | None) -> Iterator[Silence]:
    steps = sorted(steps, key=lambda it: it.offset)
    sizes = [step.step_ms or 0 for step in steps]
    if now_ms is not None and steps[-1].time_ms > now_ms:
        sizes.append(now_ms - steps[-1].time_ms)
    for step, left in zip(steps, without_clocks(sizes, longer_than_ms), strict=False):
        if left > longer_than_ms:
            begin = step.time_ms - (step.step_ms or 0)
            yield Silence(step.cluster, step.offset, step.epoch, begin, left)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Steps forward, by number, that together are `excess` longer than a step back."""

    excess: int
    distance: int
    forward: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        return max(0, self.excess - _ALIKE_MS), len(self.forward), self.excess, self.distance


def without_clocks(sizes: Sequence[int], longer_than_ms: int = 0) -> list[int]:
    """What is left of each step forward, in the order of the log; nothing of a step back."""
    left = [max(0, size) for size in sizes]
    fits = {at: _best_fit(left, at, -size) for at, size in enumerate(sizes) if size < -longer_than_ms}
    for at, first in sorted(fits.items(), key=lambda it: it[1].order if it[1] else ()):
        fit = _best_fit(left, at, -sizes[at]) if first else None
        if fit is None:
            continue
        for number in fit.forward:
            left[number] = 0
        left[fit.forward[-1]] = max(0, fit.excess - IDLE_MS * len(fit.forward))
    return left


def _best_fit(left: Sequence[int], at: int, back: int) -> _Fit | None:
    before = list(islice((number for number in range(at - 1, -1, -1) if left[number]), NEAR))
    after = list(islice((number for number in range(at + 1, len(left)) if left[number]), NEAR))
    near = sorted((*before, *after))
    alone = [_Fit(left[it] - back, abs(it - at), (it,)) for it in near if left[it] >= back]
    both = [
        _Fit(left[one] + left[other] - back, other - one, (one, other))
        for one, other in combinations(near, 2)
        if max(left[one], left[other]) < back <= left[one] + left[other]
    ]
    return min((*alone, *both), key=lambda it: it.order, default=None)
