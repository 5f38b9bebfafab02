"""The simulator bites: every historic defect of the museum is noticed within its budget of schedules.

`make test` judges a sample, which changes with every commit; `make soak` judges all of them. docs/testing.md has the
table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from random import Random

import pytest

from support.simulation.museum import BUDGET, judge_all, names

pytestmark = pytest.mark.simulation

SAMPLE = int(os.environ.get("QUORATE_MUTANTS", "1000" if os.environ.get("QUORATE_SOAK") else "8"))


def test_the_museum_has_what_was_promised() -> None:
    """At least 24 defects, each with its story and its source."""
    assert len(names()) >= 24
    for name in names():
        mutant = import_module(f"simulation.museum.{name}")
        assert mutant.__doc__, name
        assert mutant.SOURCE, name
        assert callable(mutant.break_it), name


def test_every_defect_can_be_put_in() -> None:
    """Into the code of today: a mutant of what is called otherwise now would only be missed when it is drawn."""
    for name in names():
        with pytest.MonkeyPatch.context() as patch:
            import_module(f"simulation.museum.{name}").break_it(patch)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_broken_rule_is_noticed(run_seed: int, sampled: Callable[[str], None]) -> None:
    every = names()
    chosen = Random(run_seed).sample(every, min(SAMPLE, len(every)))
    verdicts = list(judge_all(chosen))
    needed = ", ".join(f"{one.name} {one.schedules}" for one in verdicts)
    sampled(f"{len(chosen)} of {len(every)} mutants, noticed after schedules: {needed}")
    survivors = [one.name for one in verdicts if one.noticed is None]
    assert not survivors, f"not noticed within {BUDGET} schedules: {survivors}"
