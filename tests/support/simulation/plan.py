"""What a seed decides before anything runs: the fleet, its timers, the network's habits, and every fault with its
moment and its own dice.

Swarm testing (Groce et al. 2012): each seed switches a random subset of the kinds of faults on, because a fault that
always happens hides what needs its absence. Faults are listed up front, so that a failing plan can be made smaller by
leaving some out (`shrink`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId
from support.simulation.faults import FAULTS, LATE_FAULTS, ROT, STRANDED
from support.simulation.fleet import Fleet, Timings


@dataclass(frozen=True)
class Fault:
    at: float
    kind: str
    seed: int
    """Of the dice that decide whom and how it hits."""

    def __str__(self) -> str:
        return f"{self.at:.3f} s {self.kind}"


@dataclass(frozen=True)
class Size:
    """How long a schedule's safety phase is, in virtual seconds, and how close its faults are."""

    name: str
    weight: float
    seconds: tuple[float, float]
    pace_s: tuple[float, ...]
    think_s: tuple[float, ...] = (0.01, 0.05, 0.1)
    """How long administrators wait between two changes: in long schedules longer, or their changes would be most of
    what it costs.
    """


DEPOSED: Final = "deposed"
"""Begins with a leader that is cut off, and is long enough for two elections after that."""

SIZES: Final = (
    Size("short", 0.9623, (0.03, 0.14), (0.01, 0.02, 0.04)),
    Size(DEPOSED, 0.01, (0.6, 2.0), (0.3, 0.6)),
    Size("medium", 0.025, (0.4, 1.2), (0.08, 0.2, 0.4)),
    Size("long", 0.0025, (4.0, 8.0), (0.3, 1.0, 2.0), (0.1, 0.2, 0.4)),
    Size("minutes", 0.0002, (120.0, 240.0), (2.0, 5.0, 10.0), (0.5, 1.0)),
)


PER_STORY: Final = 8
"""So many schedules follow each other on one fleet: each begins where the one before has healed, with all that happened
until then.
"""


def is_first(seed: int) -> bool:
    return seed % PER_STORY == 0


def before(seed: int) -> range:
    """The schedules of its story that come first."""
    return range(seed - seed % PER_STORY, seed)


@dataclass(frozen=True)
class Plan:
    seed: int
    size: str
    fleet: Fleet
    used: bool
    """The voters' disks come from a quorum that was at work before (`used_disks`)."""
    duration_s: float
    think_s: float
    administrators: int
    encoding: bool
    remembers: float
    """Which share of what nodes say to each other may be said again later."""
    settled: bool
    """Faults wait until a first change is acknowledged; otherwise they hit the quorum while it comes up."""
    faults: tuple[Fault, ...]

    def without(self, dropped: set[int]) -> Plan:
        """The same plan but for these faults, by their place in the list."""
        return replace(self, faults=tuple(f for n, f in enumerate(self.faults) if n not in dropped))

    def __str__(self) -> str:
        fleet = self.fleet
        start = f"{'used' if self.used else 'new'} disks, {'settled' if self.settled else 'coming up'}"
        if not is_first(self.seed):
            start = f"after {before(self.seed)[0]} to {self.seed - 1}"
        kind = "dynamic" if fleet.dynamic else "static"
        lines = [f"seed {self.seed}: {self.size}, {self.duration_s:.2f} s, {start}, codec {self.encoding}"]
        lines.append(f"  voters {list(fleet.voters)} {kind}, observers {list(fleet.observers)}, join {fleet.auto_join}")
        lines.append(f"  snapshot after {fleet.snapshot_bytes} bytes, fetch {fleet.fetch_bytes}, {fleet.timings}")
        lines += [f"  fault {number}: {fault}" for number, fault in enumerate(self.faults)]
        return "\n".join(lines)


def plan_of(seed: int) -> Plan:
    story = Random(seed // PER_STORY ^ 0x5701)
    fleet, used = random_fleet(story), story.random() < 0.6
    rng = Random(seed ^ 0x5EED)
    size = rng.choices(SIZES, [each.weight for each in SIZES])[0]
    duration = rng.uniform(*size.seconds)
    settled = rng.random() < 0.5 or not is_first(seed) or size.name == DEPOSED
    faults = random_faults(rng, duration, rng.choice(size.pace_s), settled=settled)
    if size.name == DEPOSED:
        faults = (
            Fault(0.02 * rng.random(), STRANDED, rng.getrandbits(32)),
            *(fault for fault in faults if fault.at > 0.02),
        )
    return Plan(
        seed,
        size.name,
        fleet,
        used,
        duration,
        think_s=rng.choice(size.think_s),
        administrators=rng.choice((1, 1, 1, 2, 2, 3)),
        encoding=rng.random() < 0.1,
        remembers=rng.choice((0.0, 0.05, 0.3)),
        settled=settled,
        faults=faults,
    )


def rotting_plan(number: int) -> Plan:
    """A schedule of its own, in which bits of closed segments turn over: small segments, so that there are some, and
    voters that can be replaced.
    """
    plan = plan_of(number * PER_STORY)
    rng = Random(number ^ 0x207)
    fleet = replace(plan.fleet, segment_bytes=1 << 10, dynamic=True, scrub_ms=rng.choice((100, 300, 10_000)))
    rot = tuple(Fault(rng.uniform(0.2, 1.0) * plan.duration_s, ROT, rng.getrandbits(32)) for _ in range(4))
    faults = tuple(sorted(plan.faults + rot, key=lambda fault: fault.at))
    return replace(plan, fleet=fleet, settled=True, used=True, faults=faults)


def random_fleet(rng: Random) -> Fleet:
    count = rng.choices((1, 2, 3, 4, 5), (6, 14, 69, 3, 8))[0]
    voters = tuple(NodeId(n) for n in range(1, count + 1))
    observers = tuple(NodeId(100 + n) for n in range(rng.choices((0, 1, 2), (70, 25, 5))[0]))
    return Fleet(
        voters,
        observers,
        dynamic=rng.random() < 0.7,
        segment_bytes=rng.choice((1 << 10, 1 << 14)),
        timings=random_timings(rng),
        auto_join=rng.random() < 0.2,
        snapshot_bytes=rng.choice((0, 0, 600, 2000, 8000)),
        metadata_version=rng.choice(("4.3", "3.6", "3.6")),
        fetch_bytes=rng.choice((300, 2000, 1 << 20, 1 << 20)),
    )


def random_timings(rng: Random) -> Timings:
    """Kafka's defaults, or all of them shorter, so that more elections fit into a schedule."""
    scale = rng.choices((0.08, 0.2, 1.0), (64, 32, 4))[0]
    session_s = rng.choice((0.5, 3.0, 9.0))
    fetch_timeout_ms = round(2000 * scale)
    return Timings(
        election_timeout_ms=round(1000 * scale),
        first_election_timeout_ms=rng.choice((15, 30, 60)),
        fetch_timeout_ms=fetch_timeout_ms,
        request_timeout_ms=round(2000 * scale),
        retry_backoff_ms=rng.choice((50, 200, 400)),
        # As `assembly` bounds it: a quorum at rest has no elections.
        fetch_max_wait_ms=min(rng.choice((100, 500, 500, 500)), fetch_timeout_ms // 3),
        no_op_interval_s=rng.choice((0.5, 2.0, 2.0)),
        session_timeout_s=session_s,
        heartbeat_interval_s=session_s * 2 / 9,
    )


def random_faults(rng: Random, duration_s: float, pace_s: float, *, settled: bool) -> tuple[Fault, ...]:
    """Some kinds, each with its own weight, at random moments."""
    possible = sorted(FAULTS.keys() - {ROT})
    kinds = rng.sample(possible, rng.randint(1, len(possible)))
    weights = [rng.choice((0.2, 1.0, 3.0)) for _ in kinds]
    if rng.random() < 0.35:
        kinds.append("voters")
        weights.append(sum(weights))
    faults: list[Fault] = []
    at = rng.expovariate(1 / pace_s)
    while at < duration_s:
        kind = rng.choices(kinds, weights)[0]
        if settled or at > 0.15 or kind not in LATE_FAULTS:
            faults.append(Fault(at, kind, rng.getrandbits(32)))
        at += rng.expovariate(1 / pace_s)
    return tuple(faults)
