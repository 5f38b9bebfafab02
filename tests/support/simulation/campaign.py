"""Many seeds on several processors, and what to say about those that failed."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from simulation.invariants.every import every_invariant
from support.simulation.schedule import Outcome, Schedule

MAX_FAILURES = 5
"""Then nobody reads on."""
COLLECT_EVERY: Final = 50
"""The garbage of a schedule is collected all at once: its images make the collector run for nothing."""


@dataclass
class Campaign:
    outcomes: list[Outcome] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def summary(self) -> str:
        steps = sum(outcome.steps for outcome in self.outcomes)
        virtual = sum(outcome.virtual_s for outcome in self.outcomes)
        changes = sum(outcome.acknowledged for outcome in self.outcomes)
        epochs = sum(outcome.epochs for outcome in self.outcomes)
        voters = sum(outcome.changes for outcome in self.outcomes)
        faults = sum(len(outcome.faults) for outcome in self.outcomes)
        sizes = Counter(outcome.size for outcome in self.outcomes)
        return (
            f"{len(self.outcomes):,} schedules of the simulator ({', '.join(f'{n:,} {s}' for s, n in sizes.most_common())}): "
            f"{steps:,} steps, {virtual:,.0f} virtual seconds, {faults:,} faults, {epochs:,} epochs, "
            f"{changes:,} acknowledged changes of topics, {voters:,} of voters"
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


def run_campaign(seeds: Iterable[int], processes: int | None = None, max_failures: int = MAX_FAILURES) -> Campaign:
    campaign = Campaign()
    context = multiprocessing.get_context("fork")
    with context.Pool(processes or os.cpu_count() or 1) as pool:
        for result in pool.imap_unordered(without_collector, seeds, chunksize=20):
            if isinstance(result, Outcome):
                campaign.outcomes.append(result)
            else:
                campaign.failures.append(result)
            if len(campaign.failures) >= max_failures:
                break
    return campaign
