"""Runs the mutants of `tests/simulation/museum`, each in a process of its own, until the simulator notices it or its
budget is spent.

A mutant is a module with a docstring (what was broken, and where it happened), `SOURCE`, and `break_it(patch)`. The
same seeds are tried for every mutant, so the number of schedules that one needs is a number to compare.

    PYTHONPATH=.:tests python -m support.simulation.museum            # every mutant, and the table for docs/testing.md
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from support.simulation.campaign import stories, without_collector
from support.simulation.schedule import Outcome

MUSEUM: Final = Path(__file__).parents[2] / "simulation" / "museum"
BUDGET: Final = 3000
"""A mutant that survives this many schedules would slip through a run."""
FIRST_SEED: Final = 0


@dataclass(frozen=True)
class Verdict:
    name: str
    source: str
    schedules: int
    seconds: float
    noticed: str | None
    """What was said of the schedule that noticed it; None: it survived."""


def names() -> list[str]:
    return sorted(path.stem for path in MUSEUM.glob("*.py"))


def judge(name: str, budget: int = BUDGET, first_seed: int = FIRST_SEED) -> Verdict:
    """In this process, which is broken afterwards."""
    mutant = import_module(f"simulation.museum.{name}")
    mutant.break_it(pytest.MonkeyPatch())
    began = time.process_time()
    results = (
        result for story in stories(range(first_seed, first_seed + budget)) for result in without_collector(story)
    )
    for count, result in enumerate(results, start=1):
        if not isinstance(result, Outcome):
            return Verdict(name, mutant.SOURCE, count, time.process_time() - began, result[1].partition(": ")[2])
    return Verdict(name, mutant.SOURCE, budget, time.process_time() - began, None)


def judge_all(wanted: Iterable[str], processes: int | None = None, budget: int = BUDGET) -> Iterator[Verdict]:
    """Every mutant in a fresh process, several at a time."""
    context = multiprocessing.get_context("fork")
    with context.Pool(processes or os.cpu_count() or 1, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(partial(judge, budget=budget), list(wanted), chunksize=1)


def table(verdicts: Iterable[Verdict]) -> str:
    """Markdown, for docs/testing.md."""
    lines = ["| mutant | where it happened | schedules | noticed by |", "|---|---|---:|---|"]
    for verdict in sorted(verdicts, key=lambda one: one.name):
        noticed = verdict.noticed or "**survived**"
        words = noticed.removeprefix("Violation: ").replace("|", "/").splitlines()[0]
        lines.append(f"| `{verdict.name}` | {verdict.source} | {verdict.schedules} | {words[:110]} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Judge the mutants of the museum.")
    parser.add_argument("names", nargs="*", help="some of them; all when none is named")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--budget", type=int, default=BUDGET, help="schedules for each")
    arguments = parser.parse_args()
    verdicts = []
    for verdict in judge_all(arguments.names or names(), arguments.processes, arguments.budget):
        verdicts.append(verdict)
        said = f"{verdict.noticed or 'SURVIVED'}".splitlines()[0]
        print(f"{verdict.name}: {verdict.schedules} schedules, {verdict.seconds:.1f} s: {said[:170]}", flush=True)
    print(table(verdicts))
    return 1 if any(verdict.noticed is None for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
