"""A run: volleys from a seed, a judgement after each, until the time or the count is up. What it finds names the frames
that did it.

After a finding the nodes are started anew on empty disks, so that a long run finds more than one thing.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from support.fuzz.account import Account
from support.fuzz.judge import Judge
from support.fuzz.lanes import Lanes
from support.fuzz.nodes import Nodes
from support.fuzz.shots import Shot, Target, named, shot

VOLLEY: Final = 2000
MAX_FINDINGS: Final = 12
"""More of them say nothing new, and each costs a start of five nodes."""
SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong after the frames `first` to `last`; `suspects` were under way when it happened."""

    seed: int
    first: int
    last: int
    wrong: tuple[str, ...]
    suspects: tuple[Shot, ...]

    def __str__(self) -> str:
        replay = (
            f"python -m support.fuzz --seed {self.seed} --first {self.first} --count {self.last - self.first} --shrink"
        )
        suspects = "\n".join(f"    {each.number}: {named(each)}" for each in self.suspects[:SHOWN])
        told = "\n".join(self.wrong)
        return (
            f"after {self.first}..{self.last} of seed {self.seed}: {told}\n"
            "  under way:\n"
            f"{suspects}\n"
            f"  PYTHONPATH=.:tests .venv/bin/{replay}"
        )


@dataclass
class Result:
    seed: int
    account: Account = field(default_factory=Account)
    findings: list[Finding] = field(default_factory=list)
    elections: int = 0
    judgements: int = 0
    began: float = field(default_factory=time.monotonic)
    highest_rss: dict[int, int] = field(default_factory=dict)

    def sentences(self) -> list[str]:
        memory = ", ".join(f"node {node} {size} MiB" for node, size in sorted(self.highest_rss.items()))
        rate = self.account.total / max(time.monotonic() - self.began, 0.1)
        first, *rest = self.account.sentences()
        return [
            (
                f"seed {self.seed}: {first}, {rate:,.0f} a second; judged {self.judgements} times, {self.elections} "
                f"elections, {len(self.findings)} findings; at most {memory}"
            ),
            *rest,
        ]


@dataclass(frozen=True, slots=True)
class Bounds:
    seed: int
    first: int = 0
    count: int | None = None
    seconds: float | None = None
    stop_at_finding: bool = False


def run(directory: Path, bounds: Bounds, say: Callable[[str], None] = print) -> Result:
    """Send from `bounds.first` on, until a bound is reached."""
    result = Result(bounds.seed)
    number = bounds.first
    end = None if bounds.count is None else bounds.first + bounds.count
    for attempt in itertools.count():
        with Nodes(directory / f"nodes-{attempt}") as nodes:
            nodes.start()
            if attempt == 0:
                result.began = time.monotonic()
            until = None if bounds.seconds is None else result.began + bounds.seconds
            number = asyncio.run(_campaign(nodes, result, number, end, until, say))
        out_of_time = until is not None and time.monotonic() >= until
        out_of_frames = end is not None and number >= end
        if out_of_time or out_of_frames or bounds.stop_at_finding or len(result.findings) >= MAX_FINDINGS:
            return result
    raise AssertionError("unreachable")


async def _campaign(
    nodes: Nodes, result: Result, number: int, end: int | None, until: float | None, say: Callable[[str], None]
) -> int:
    """Volleys at these nodes until something is wrong or a bound is reached; the next number."""
    lanes = Lanes(nodes.ports, result.account.add)
    judge = Judge(nodes)
    await judge.begin()
    elections = result.elections
    while (end is None or number < end) and (until is None or time.monotonic() < until):
        last = min(number + VOLLEY, end or number + VOLLEY)
        lanes.ids = judge.ids
        suspects = await volley(lanes, [shot(result.seed, each) for each in range(number, last)], nodes)
        wrong = await judge.judge() if not suspects else judge.dead()
        wrong += result.account.unreadable
        result.account.unreadable = []
        result.judgements += 1
        result.elections = elections + judge.elections
        result.highest_rss = {
            node: max(size, result.highest_rss.get(node, 0)) for node, size in judge.highest_rss.items()
        }
        first, number = number, last
        if result.judgements % 50 == 0:
            say("; ".join(result.sentences()[:2]))
        if wrong:
            found = Finding(result.seed, first, last, tuple(wrong), tuple(suspects))
            result.findings.append(found)
            say(str(found))
            return number
    if wrong := await judge.judge(whole=True):
        result.findings.append(Finding(result.seed, max(0, number - VOLLEY), number, tuple(wrong), ()))
    result.findings += [Finding(result.seed, 0, number, (each,), ()) for each in judge.diverging()]
    await judge.close()
    return number


async def volley(lanes: Lanes, shots: list[Shot], nodes: Nodes) -> list[Shot]:
    """Send them. When a node ends meanwhile: what was under way to it, the oldest first."""
    sending = asyncio.ensure_future(lanes.send(shots))
    suspects: list[Shot] = []
    try:
        while not sending.done() and not suspects:
            await asyncio.wait([sending], timeout=0.05)
            if dead := nodes.dead():
                suspects = _suspects(lanes, {target for target in nodes.ports if nodes.node_of(target) in dead})
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return suspects


def _suspects(lanes: Lanes, targets: set[Target]) -> list[Shot]:
    """What was under way to these, or had just been closed upon; to all, if a frame to one node ended another."""
    recent = [*lanes.closed_upon, *lanes.under_way.values()]
    return [one for one in recent if one.target in targets] or recent
