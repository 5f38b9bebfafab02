"""Minutes of frames from a seed at real nodes, and everything that the fuzz found before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from support.fuzz import regressions
from support.fuzz.__main__ import SUMMARY
from support.fuzz.bench import Bench

TESTS: Final = Path(__file__).parents[1]
pytestmark = pytest.mark.fuzz
SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
SECONDS: Final = float(os.environ.get("QUORATE_FUZZ_SECONDS", "14400" if SOAK else "80"))
"""So long frames are sent."""


@pytest.mark.parametrize("path", sorted(regressions.FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_what_the_fuzz_found_once_harms_nobody(bench: Bench, path: Path) -> None:
    assert bench.put(regressions.read(path)) == []


@pytest.mark.timeout(SECONDS * 2 + 600)
def test_no_frame_of_a_stranger_ends_a_node_or_takes_from_others_what_they_are_owed(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """In a process of its own, as on the command line: what it prints is how to see a failure again."""
    words = ["--seed", str(run_seed), "--seconds", str(SECONDS), "--directory", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "support.fuzz", *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    for line in done.stdout.splitlines():
        if line.startswith(SUMMARY):
            sampled(line.removeprefix(SUMMARY))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-3000:]
