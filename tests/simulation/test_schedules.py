"""Thousands of random schedules: whatever fails, what was acknowledged survives, and a healed quorum goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_runtime.raft import election
from support.simulation.beside import Campaign
from support.simulation.campaign import attempt, replay_command, run_campaign
from support.simulation.plan import plan_of
from support.simulation.schedule import Outcome
from support.simulation.shrink import shrink

pytestmark = pytest.mark.simulation

TESTS = Path(__file__).parents[1]
REGRESSIONS = Path(__file__).parent / "regressions.txt"


def regressions() -> list[int]:
    lines = (line.partition("#")[0].strip() for line in REGRESSIONS.read_text().splitlines())
    return [int(line) for line in lines if line]


def test_a_few_random_schedules_keep_every_invariant(run_seed: int, sampled: Callable[[str], None]) -> None:
    campaign = run_campaign(range(run_seed, run_seed + 24))
    sampled(f"{campaign.summary()}, seeds from {run_seed}")
    assert not campaign.failures, campaign.complaint()


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_thousands_of_random_schedules_keep_every_invariant(
    thousands: Campaign, sampled: Callable[[str], None]
) -> None:
    """They began with the first test of this folder (conftest.py)."""
    code, said = thousands.result()
    summary = [line for line in said.splitlines() if "schedules of the simulator" in line]
    for line in summary:
        sampled(line)
    assert code == 0, said
    assert summary, said


@pytest.mark.parametrize("seed", regressions())
def test_a_seed_that_failed_once_passes(seed: int) -> None:
    result = attempt(seed)
    assert isinstance(result, Outcome), f"{result[1]}\n    replay: {replay_command(seed)}"


@pytest.mark.parametrize("seed", [3, 5])
def test_the_same_seed_gives_the_same_run_in_every_process(seed: int) -> None:
    """Whatever PYTHONHASHSEED is: the order of sets and the hashes of strings decide nothing."""
    command = [sys.executable, "-P", "-m", "support.simulation", "--seed", str(seed), "--digest"]
    digests = set()
    for hash_seed in ("0", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
        digests.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(digests) == 1


def test_a_failing_plan_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a node that votes for everybody, most faults of a failing schedule are not needed."""
    monkeypatch.setattr(election, "is_same_vote", lambda *_: True)
    plan = next(plan_of(seed) for seed in range(1, 200) if not isinstance(attempt(seed), Outcome))
    said: list[str] = []
    command = shrink(plan, said.append)
    assert f"--seed {plan.seed} --trace --without" in command
