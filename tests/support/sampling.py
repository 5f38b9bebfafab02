"""What a run chooses by chance: its seed, and the account of what was chosen, printed at the end of the run."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ACCOUNT = pytest.StashKey[list[str]]()


@dataclass(frozen=True, slots=True)
class Sometimes:
    """A test file that costs too much for every run: told by the seeds with this rest of their division, by `make
    soak`, and when it is asked for.
    """

    file: str
    what: str
    """For the account."""
    one_of: int
    rest: int


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
        told = run_seed() % each.one_of == each.rest
        if mine and not told:
            config.hook.pytest_deselected(items=mine)
            items[:] = [item for item in items if item not in mine]
        if mine:
            config.stash[ACCOUNT].append(f"{each.what}: {'told' if told else 'left out'}")
