"""The simulator bites: every historic defect of the museum is noticed within its budget of schedules.

`make test` judges a sample, which changes with every commit; `make soak` judges all of them. docs/testing.md has the
table.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

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
            put_in = _Recorded(patch)
            import_module(f"simulation.museum.{name}").break_it(put_in)
            for what, sound, broken in put_in.changes:
                _takes_what_the_sound_one_takes(f"{name}: {what}", sound, broken)


class _Recorded:
    """A MonkeyPatch, and what it changes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.changes: list[tuple[str, Any, Any]] = []

    def setattr(self, target: Any, name: str, value: Any, **more: Any) -> None:
        self.changes.append((name, getattr(target, name), value))
        self._patch.setattr(target, name, value, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._patch, name)


def _takes_what_the_sound_one_takes(what: str, sound: Any, broken: Any) -> None:
    if not inspect.isfunction(sound) or not callable(broken):
        return
    given = inspect.signature(sound).parameters.values()
    places = [each.name for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = {each.name: None for each in given if each.kind is each.KEYWORD_ONLY}
    try:
        inspect.signature(broken).bind(*places, **named)
    except TypeError as error:
        raise AssertionError(f"{what} is called with {', '.join([*places, *named])}: {error}") from None


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
