"""The simulator bites: every broken rule of the museum is noticed within two hundred schedules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.museum.mutants import MUTANTS, Mutant, name_of
from support.simulation.campaign import run_campaign

pytestmark = [pytest.mark.simulation, pytest.mark.slow]

PATIENCE = 200
"""A mutant that survives this many schedules would slip through a run."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutant", MUTANTS, ids=name_of)
def test_a_broken_rule_is_noticed(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch, sampled: Callable[[str], None]
) -> None:
    mutant(monkeypatch)
    campaign = run_campaign(range(1, PATIENCE + 1), max_failures=1)
    assert campaign.failures, f"{name_of(mutant)} survived {len(campaign.outcomes)} schedules"
    sampled(
        f"mutant {name_of(mutant)}: noticed after {len(campaign.outcomes)} schedules: {campaign.failures[0][1][:160]}"
    )
