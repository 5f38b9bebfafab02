"""Many seeds on several processors, and what to say about those that failed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from simulation.invariants.every import every_invariant
from support.simulation.schedule import Outcome, Schedule

MAX_FAILURES = 5
"""Then nobody reads on."""
SAY_EVERY: Final = 10_000
COLLECT_EVERY: Final = 50
"""The garbage of a schedule is collected all at once: its images make the collector run for nothing."""


@dataclass
class Campaign:
    """Sums only: a soak runs a million."""

    count: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    acknowledged: int = 0
    epochs: int = 0
    changes: int = 0
    faults: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.count += 1
        self.steps += outcome.steps
        self.virtual_s += outcome.virtual_s
        self.acknowledged += outcome.acknowledged
        self.epochs += outcome.epochs
        self.changes += outcome.changes
        self.faults += len(outcome.faults)
        self.sizes[outcome.size] += 1

    def summary(self) -> str:
        sizes = ", ".join(f"{number:,} {size}" for size, number in self.sizes.most_common())
        return (
            f"{self.count:,} schedules of the simulator ({sizes}): {self.steps:,} steps, {self.virtual_s:,.0f} virtual seconds, "
            f"{self.faults:,} faults, {self.epochs:,} epochs, {self.acknowledged:,} acknowledged changes of topics, "
            f"{self.changes:,} of voters"
        )

    def complaint(self) -> str:
        lines = [f"{text}\n    replay: {replay_command(seed)}" for seed, text in self.failures]
        return "\n".join([*lines, "add the seed to tests/simulation/regressions.txt when it is mended"])


def replay_command(seed: int) -> str:
    return f"PYTHONPATH=.:tests python -m support.simulation --seed {seed} --trace"


def attempt(seed: int) -> Outcome | tuple[int, str]:
    """One schedule; a failure of any kind comes back as text."""
    try:
        return Schedule.of(seed, every_invariant()).run()
    except Exception as error:
        return seed, f"seed {seed}: {type(error).__name__}: {error}"


_attempts = 0


def without_collector(seed: int) -> Outcome | tuple[int, str]:
    """In a process of its own: `attempt`, and the collector only now and then."""
    global _attempts
    if _attempts == 0:
        gc.disable()
        gc.freeze()
    _attempts += 1
    if _attempts % COLLECT_EVERY == 0:
        gc.collect()
    return attempt(seed)


def run_campaign(
    seeds: range,
    processes: int | None = None,
    max_failures: int = MAX_FAILURES,
    seconds: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Campaign:
    """All of these seeds, in order; fewer if that takes longer than `seconds`. Says how far it is, so that it can go on from there."""
    campaign = Campaign()
    began = time.monotonic()
    context = multiprocessing.get_context("fork")
    with context.Pool(processes or os.cpu_count() or 1) as pool:
        for seed, result in zip(seeds, pool.imap(without_collector, seeds, chunksize=20), strict=True):
            if isinstance(result, Outcome):
                campaign.add(result)
            else:
                campaign.failures.append(result)
            late = seconds is not None and time.monotonic() - began > seconds
            if len(campaign.failures) >= max_failures or late:
                break
            if (seed - seeds.start + 1) % SAY_EVERY == 0:
                say(f"seeds {seeds.start} to {seed} are done, {len(campaign.failures)} failed")
    return campaign
