"""A run that went wrong, made small: which of its frames are needed, tried on fresh nodes each time.

First the suspects one by one and all frames at once, then halves of what is left (delta debugging). A frame is judged
by what comes of it alone: dead nodes, a canary that is not served, a bad line in a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from support.fuzz.judge import Judge
from support.fuzz.lanes import Lanes
from support.fuzz.nodes import Nodes
from support.fuzz.run import Finding, volley
from support.fuzz.shots import Shot, named, shot

Try = Callable[[Sequence[Shot]], list[str]]


def on_fresh_nodes(directory: Path) -> Try:
    """Send these, and say what is wrong then."""
    tries = iter(range(1_000_000))

    def attempt(shots: Sequence[Shot]) -> list[str]:
        with Nodes(directory / f"try-{next(tries)}") as nodes:
            nodes.start()
            return asyncio.run(put(nodes, shots))

    return attempt


async def put(nodes: Nodes, shots: Sequence[Shot]) -> list[str]:
    judge = Judge(nodes)
    await judge.begin()
    lanes = Lanes(nodes.ports, lambda *_: None)
    lanes.ids = judge.ids
    await volley(lanes, list(shots), nodes)
    return await judge.judge()


def shrink(finding: Finding, attempt: Try, say: Callable[[str], None] = print) -> list[Shot]:
    """The frames that are needed; empty when it does not happen again."""
    suspects = list(finding.suspects)
    left = (
        suspects
        if suspects and attempt(suspects)
        else [shot(finding.seed, n) for n in range(finding.first, finding.last)]
    )
    if left != suspects and not attempt(left):
        return []
    parts = 2
    while len(left) > 1:
        say(f"{len(left)} frames do it")
        size = -(-len(left) // parts)
        pieces = [left[at : at + size] for at in range(0, len(left), size)]
        for number, piece in enumerate(pieces):
            rest = [one for other in pieces[:number] + pieces[number + 1 :] for one in other]
            if attempt(piece):
                left, parts = piece, 2
                break
            if parts > 2 and attempt(rest):
                left, parts = rest, parts - 1
                break
        else:
            if parts >= len(left):
                break
            parts = min(len(left), parts * 2)
    return left


def lines(shots: Sequence[Shot]) -> list[str]:
    """As they stand in `tests/fuzz/regressions`: a comment, then the target and the bytes."""
    return [
        line
        for one in shots
        for line in (f"# {named(one)}", f"{one.target}{'' if one.is_frame else ' raw'} {one.payload.hex()}")
    ]
