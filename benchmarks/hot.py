"""Where the time of a leader goes under full load: its own functions by the time in them, measured by the interpreter's
profiler.

The profiler makes calls two or three times as slow, so shares count, not seconds.
"""

from __future__ import annotations

import pstats
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import load
from benchmarks.clusters import Quorum

LINES = 40


def run(say: Callable[[str], None], seconds: float) -> None:
    work = Path(tempfile.mkdtemp(prefix="quorate-hot-"))
    quorum = Quorum("quorate", work, profiled=True)
    quorum.format()
    quorum.start()
    try:
        leader = load.prepare(quorum)
        say(f"64 connections: {load.run(quorum, leader, seconds)}")
        say(f"1 connection: {load.run(quorum, leader, seconds, connections=1)}")
        leader.terminate()
        pstats.Stats(str(leader.directory / "profile"), stream=sys.stdout).sort_stats("tottime").print_stats(LINES)
    finally:
        quorum.stop()
        shutil.rmtree(work, ignore_errors=True)
