"""A campaign in a process of its own, beside the other tests: those need one processor, it takes what is
left of all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Campaign:
    """`python -m support.simulation --seed FIRST --count COUNT`, on its way."""

    process: subprocess.Popen[bytes]
    said: Path

    def result(self) -> tuple[int, str]:
        """Waits for its end: its exit code, and all that it said."""
        return self.process.wait(), self.said.read_text()

    def end(self) -> None:
        """With its workers, if nobody waited for it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start(first_seed: int, count: int, seconds: float | None, said: Path) -> Campaign:
    limit = [] if seconds is None else ["--seconds", str(seconds)]
    command = [
        "nice",
        sys.executable,
        "-P",
        "-m",
        "support.simulation",
        "--seed",
        str(first_seed),
        "--count",
        str(count),
    ]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
    with said.open("wb") as output:
        process = subprocess.Popen(
            [*command, *limit], stdout=output, stderr=subprocess.STDOUT, env=environment, process_group=0
        )
    return Campaign(process, said)
