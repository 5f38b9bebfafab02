"""What a run chooses by chance: its seed, and the account of what was chosen, printed at the end of the run."""

from __future__ import annotations

import os
import subprocess
import zlib
from pathlib import Path

import pytest

ACCOUNT = pytest.StashKey[list[str]]()


def run_seed() -> int:
    """QUORATE_SEED, or a number that changes with every commit."""
    given = os.environ.get("QUORATE_SEED")
    if given is not None:
        return int(given, 0)
    here = Path(__file__).parent
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, check=False).stdout
    return zlib.crc32(head)
