"""No election follows from any request: steps take time here, and thousands of partitions are created, led, moved,
fenced, handed over and deleted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.invariants.every import every_invariant
from support.simulation.work import PARTITIONS, TIMINGS, Work

pytestmark = pytest.mark.simulation


def test_no_election_follows_from_any_request(run_seed: int, sampled: Callable[[str], None]) -> None:
    done = Work(run_seed, every_invariant()).run()
    assert done.most_partitions == PARTITIONS
    longest_ms = done.longest_step_s * 1000
    sampled(f"{done.steps} steps, the longest {longest_ms:.0f} virtual ms, {done.heartbeats} heartbeats")
    assert longest_ms < TIMINGS.fetch_timeout_ms, "a single step would cost an election"
