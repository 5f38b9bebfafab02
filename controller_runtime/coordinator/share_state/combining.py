"""State batches that overlap, made into ones that do not: of an offset the batch with the larger delivery count says
what became of it, and of equal ones the larger state. Neighbours that say the same become one.

A sweep over their ends, so hostile batches cost no more than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class StateBatch:
    first: int
    last: int
    state: int
    """0 available, 2 acknowledged, 4 archived."""
    count: int
    """Of deliveries."""


def combined(batches: Sequence[StateBatch]) -> tuple[StateBatch, ...]:
    """One alone stays as it is, as in Kafka; of several those that end before they begin are left out."""
    if len(batches) < 2:
        return tuple(batches)
    ordered = sorted((each for each in batches if each.first <= each.last), key=lambda each: each.first)
    bounds = sorted({bound for each in ordered for bound in (each.first, each.last + 1)})
    over: list[tuple[int, int, int]] = []
    """(-count, -state, last) of batches that have begun: the strongest first."""
    runs: list[list[int]] = []
    place = 0
    for begin, end in pairwise(bounds):
        while place < len(ordered) and ordered[place].first == begin:
            each = ordered[place]
            heappush(over, (-each.count, -each.state, each.last))
            place += 1
        while over and over[0][2] < begin:
            heappop(over)
        if not over:
            continue
        count, state = -over[0][0], -over[0][1]
        if runs and runs[-1][1] + 1 == begin and runs[-1][2:] == [state, count]:
            runs[-1][1] = end - 1
        else:
            runs.append([begin, end - 1, state, count])
    return tuple(StateBatch(*run) for run in runs)
