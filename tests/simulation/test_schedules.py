"""Thousands of random schedules: whatever fails, what was acknowledged survives, and a healed quorum goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.simulation.campaign import attempt, replay_command, run_campaign
from support.simulation.schedule import Outcome

pytestmark = pytest.mark.simulation

SCHEDULES = int(os.environ.get("QUORATE_SCHEDULES", "1000000" if os.environ.get("QUORATE_SOAK") else "20000"))
REGRESSIONS = Path(__file__).parent / "regressions.txt"


def regressions() -> list[int]:
    lines = (line.partition("#")[0].strip() for line in REGRESSIONS.read_text().splitlines())
    return [int(line) for line in lines if line]


def test_a_few_random_schedules_keep_every_invariant(run_seed: int, sampled: Callable[[str], None]) -> None:
    campaign = run_campaign(range(run_seed, run_seed + 24))
    sampled(f"{campaign.summary()}, seeds from {run_seed}")
    assert not campaign.failures, campaign.complaint()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_thousands_of_random_schedules_keep_every_invariant(run_seed: int, sampled: Callable[[str], None]) -> None:
    first = run_seed + 24
    campaign = run_campaign(range(first, first + SCHEDULES))
    sampled(f"{campaign.summary()}, seeds from {first}")
    assert not campaign.failures, campaign.complaint()
    assert len(campaign.outcomes) == SCHEDULES


@pytest.mark.parametrize("seed", regressions())
def test_a_seed_that_failed_once_passes(seed: int) -> None:
    result = attempt(seed)
    assert isinstance(result, Outcome), f"{result[1]}\n    replay: {replay_command(seed)}"


def test_the_same_seed_gives_the_same_run(run_seed: int) -> None:
    assert attempt(run_seed) == attempt(run_seed)
