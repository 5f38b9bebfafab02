"""Many seeds on several processors, and what to say about those that failed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from simulation.invariants.every import every_invariant
from support.simulation.plan import PER_STORY, plan_of
from support.simulation.schedule import Outcome, Schedule

MAX_FAILURES = 5
"""Then nobody reads on."""
SAY_EVERY: Final = 10_000
COLLECT_EVERY: Final = 10
"""The garbage of so many stories is collected all at once: images make the collector run for nothing."""


@dataclass
class Campaign:
    """Sums only: a soak runs a million."""

    count: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    acknowledged: int = 0
    epochs: int = 0
    changes: int = 0
    with_brokers: int = 0
    produced: int = 0
    fetched: int = 0
    forwarded: int = 0
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
        self.with_brokers += outcome.brokers > 0
        self.produced += outcome.produced
        self.fetched += outcome.fetched
        self.forwarded += outcome.forwarded
        self.faults += len(outcome.faults)
        self.sizes[outcome.size] += 1

    def summary(self) -> str:
        sizes = ", ".join(f"{number:,} {size}" for size, number in self.sizes.most_common())
        return (
            f"{self.count:,} schedules of the simulator ({sizes}): {self.steps:,} steps, {self.virtual_s:,.0f} "
            f"virtual seconds, {self.faults:,} faults, {self.epochs:,} epochs, {self.acknowledged:,} acknowledged "
            f"changes of topics, {self.changes:,} of voters; {self.with_brokers:,} schedules had brokers, which "
            f"acknowledged {self.produced:,} batches and answered {self.fetched:,} fetches with records; "
            f"{self.forwarded:,} changes of topics were forwarded by brokers"
        )

    def complaint(self) -> str:
        lines = [f"{text}\n    replay: {replay_command(seed)}" for seed, text in self.failures]
        return "\n".join([*lines, "add the seed to tests/simulation/regressions.txt when it is mended"])


def replay_command(seed: int) -> str:
    return f"PYTHONPATH=.:tests python -m support.simulation --seed {seed} --trace"


Result = Outcome | tuple[int, str]
"""What a schedule did, or its seed and how it failed."""


def attempt(seed: int) -> Result:
    """One schedule, after those that come before it in its story; a failure of any kind comes back as text."""
    return list(play(range(seed, seed + 1)))[-1]


def play(seeds: range) -> Iterator[Result]:
    """Schedules of one story, up to the first that fails."""
    invariants = every_invariant()
    seed = seeds[0]
    try:
        schedule = Schedule.of(plan_of(seed), invariants)
        yield schedule.run()
        for seed in seeds[1:]:
            yield Schedule(plan_of(seed), schedule.story).run()
    except Exception as error:
        yield seed, f"seed {seed}: {type(error).__name__}: {error}"


def stories(seeds: range) -> Iterator[range]:
    """These seeds, story by story."""
    at = seeds.start
    while at < seeds.stop:
        end = min(seeds.stop, at - at % PER_STORY + PER_STORY)
        yield range(at, end)
        at = end


_played = 0


def without_collector(seeds: range) -> list[Result]:
    """In a process of its own: `play`, and the collector only now and then."""
    global _played
    if _played == 0:
        gc.disable()
        gc.freeze()
    _played += 1
    if _played % COLLECT_EVERY == 0:
        gc.collect()
    return list(play(seeds))


def run_campaign(
    seeds: range,
    processes: int | None = None,
    max_failures: int = MAX_FAILURES,
    seconds: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Campaign:
    """All of these seeds, in order; fewer if that takes longer than `seconds`. Says how far it is, so that it can go on
    from there.
    """
    campaign = Campaign()
    began = time.monotonic()
    context = multiprocessing.get_context("fork")
    said = 0
    with context.Pool(processes or os.cpu_count() or 1) as pool:
        for results in pool.imap(without_collector, stories(seeds), chunksize=4):
            for result in results:
                if isinstance(result, Outcome):
                    campaign.add(result)
                else:
                    campaign.failures.append(result)
            late = seconds is not None and time.monotonic() - began > seconds
            if len(campaign.failures) >= max_failures or late:
                break
            if campaign.count // SAY_EVERY > said:
                said = campaign.count // SAY_EVERY
                say(
                    f"{campaign.count:,} schedules from seed {seeds.start} on are done, {len(campaign.failures)} failed"
                )
    return campaign
