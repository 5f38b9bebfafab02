"""Runs the mutants of `tests/simulation/museum`, each in a process of its own, until the simulator notices it or its
budget is spent.

A mutant is a module with a docstring (what was broken, and where it happened), `SOURCE`, and `break_it(patch)`; with
`SCHEDULES`, if other schedules than those of the quorum are to notice it. The same seeds are tried for every mutant, so
the number of schedules that one needs is a number to compare.

    PYTHONPATH=.:tests python -m support.simulation.museum            # every mutant, and the table for docs/testing.md
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from simulation.invariants.every import every_invariant
from support.simulation.campaign import stories, without_collector
from support.simulation.replication.schedule import Replication, plan_of
from support.simulation.rights import Rights
from support.simulation.schedule import Outcome
from support.simulation.work import Work

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


def _quorum(seeds: range) -> Iterator[str | None]:
    """The random schedules of `schedule`, story by story."""
    for story in stories(seeds):
        for result in without_collector(story):
            yield None if isinstance(result, Outcome) else result[1].partition(": ")[2]


def _work(seeds: range) -> Iterator[str | None]:
    """Without faults, where steps take time (`work`)."""
    return (_failure(Work(seed).run) for seed in seeds)


def _failure(run: Callable[[], object]) -> str | None:
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _replication(seeds: range) -> Iterator[str | None]:
    """Brokers that replicate (`replication.schedule`)."""
    return (_failure(Replication(plan_of(seed), every_invariant()).run) for seed in seeds)


def _rights(seeds: range) -> Iterator[str | None]:
    """Races between ACLs and fail-overs (`rights`)."""
    return (_failure(Rights(seed).run) for seed in seeds)


PLAYS: Final[dict[str, Callable[[range], Iterator[str | None]]]] = {
    "quorum": _quorum,
    "work": _work,
    "replication": _replication,
    "rights": _rights,
}
"""What each kind of schedule says of these seeds, one by one: how it failed, or None."""


def judge(name: str, budget: int = BUDGET, first_seed: int = FIRST_SEED) -> Verdict:
    """In this process, which is broken afterwards."""
    mutant = import_module(f"simulation.museum.{name}")
    mutant.break_it(pytest.MonkeyPatch())
    began = time.process_time()
    play = PLAYS[getattr(mutant, "SCHEDULES", "quorum")]
    for count, failure in enumerate(play(range(first_seed, first_seed + budget)), start=1):
        if failure is not None:
            return Verdict(name, mutant.SOURCE, count, time.process_time() - began, failure)
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
