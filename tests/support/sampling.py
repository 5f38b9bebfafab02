"""What a run chooses by chance: its seed, and the account of what was chosen, printed at the end of the run."""

from __future__ import annotations

import os
import random
import subprocess
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOAK = bool(os.environ.get("QUORATE_SOAK"))
ACCOUNT = pytest.StashKey[list[str]]()
MANY = 24
"""Of more variants than these the account names the first; with its seed the choice is made again."""


@dataclass(frozen=True, slots=True)
class Sometimes:
    """A test file that costs too much for every run: told by the seeds with this rest of their division, by `make
    soak`, and when it is asked for.
    """

    file: str
    what: str
    """For the account."""
    one_of: int
    """0: by `make soak` and by name alone."""
    rest: int = 0


def every_nth(stride: int, first: int = 1, last: int = 10_000) -> range:
    """Of places that are tried one after another (the operation at which a machine stops) each `stride`th, from one
    that the seed chooses.
    """
    return range(first + run_seed() % stride, last, stride)


@cache
def run_seed() -> int:
    """QUORATE_SEED, or a number that changes with every commit."""
    given = os.environ.get("QUORATE_SEED")
    if given is not None:
        return int(given, 0)
    here = Path(__file__).parent
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, check=False).stdout
    return zlib.crc32(head)


def leave_out(config: pytest.Config, items: list[pytest.Item], files: Sequence[Sometimes]) -> None:
    """Take from `items` what this run's seed does not tell, and say so in the account."""
    if os.environ.get("QUORATE_SOAK") or any(".py" in argument for argument in config.args):
        return
    for each in files:
        mine = [item for item in items if item.path.name == each.file]
        told = each.one_of > 0 and run_seed() % each.one_of == each.rest
        if mine and not told:
            config.hook.pytest_deselected(items=mine)
            items[:] = [item for item in items if item not in mine]
        if mine:
            config.stash[ACCOUNT].append(f"{each.what}: {'told' if told else 'left out'}")


def leave_out_variants(config: pytest.Config, items: list[pytest.Item], variants: Mapping[str, int]) -> None:
    """Of each test that is named, so many variants are run; the seed chooses."""
    if os.environ.get("QUORATE_SOAK") or any(".py" in argument for argument in config.args):
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        name = item.name.partition("[")[0]
        if name in variants:
            groups.setdefault(name, []).append(item)
    seed = run_seed()
    kept = {id(one) for name, group in sorted(groups.items()) for one in _some(group, variants[name], f"{seed} {name}")}
    left_out = [item for group in groups.values() for item in group if id(item) not in kept]
    if not left_out:
        return
    config.hook.pytest_deselected(items=left_out)
    gone = {id(item) for item in left_out}
    names = [item.name.partition("[")[2].rstrip("]") for group in groups.values() for item in group if id(item) in kept]
    told = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
    items[:] = [item for item in items if id(item) not in gone]
    config.stash[ACCOUNT].append(
        f"{len(kept)} of {len(kept) + len(left_out)} variants of {len(groups)} tests (seed {seed}): {told}"
    )


def take_turns(config: pytest.Config, items: list[pytest.Item], one_of: Callable[[pytest.Item], int]) -> None:
    """What costs long is told, test by test and variant by variant, by the seeds whose turn it is: one in so many."""
    if os.environ.get("QUORATE_SOAK") or any(".py" in argument for argument in config.args):
        return
    seed = run_seed()
    long = [item for item in items if one_of(item) > 1]
    gone = {item.nodeid for item in long if not has_its_turn(f"{item.path.name}::{item.name}", one_of(item), seed)}
    if not gone:
        return
    config.hook.pytest_deselected(items=[item for item in long if item.nodeid in gone])
    items[:] = [item for item in items if item.nodeid not in gone]
    config.stash[ACCOUNT].append(f"{len(long) - len(gone)} of {len(long)} long tests, by turns (seed {seed})")


def has_its_turn(name: str, one_of: int, seed: int) -> bool:
    return (zlib.crc32(name.encode()) + seed) % one_of == 0


def _some(group: list[pytest.Item], count: int, seed: str) -> list[pytest.Item]:
    return random.Random(seed).sample(group, min(count, len(group)))


def one_way_each(config: pytest.Config, items: list[pytest.Item], tests: Sequence[str]) -> None:
    """Of `tests`, which show the same cases in several ways, each case in one way; the next seed takes the next way."""
    if os.environ.get("QUORATE_SOAK") or any(".py" in argument for argument in config.args):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        name, _, case = item.name.partition("[")
        if name in tests:
            cases.setdefault(case, []).append(item)
    kept = {ways[(run_seed() + number) % len(ways)].nodeid for number, ways in enumerate(cases.values())}
    left_out = [item for ways in cases.values() for item in ways if item.nodeid not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = {item.nodeid for item in left_out}
        items[:] = [item for item in items if item.nodeid not in gone]
        config.stash[ACCOUNT].append(
            f"{len(cases)} cases of {tests[0]} in one of {len(tests)} ways each (seed {run_seed()})"
        )
