"""`kraft-pipeline run` of a fleet of many clusters with little each, in a process of its own: by the clock, by the
processors' seconds of all its processes, and the memory of the largest of them.

    python -m benchmarks.pipeline_fleet DIRECTORY [--clusters 100] [--kilobytes 1000]

Beside it the same fleet as one cluster's log of as many bytes: what is left of a difference is the price of a cluster.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.pipeline_added import grow
from benchmarks.pipeline_logs import write_directory

_CHILD_SUBREAPER: Final = 36


def fleet(root: Path, clusters: int, kilobytes: int) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for number in range(clusters):
        grow(write_directory(root / str(number), cluster=f"fleet-{number:04d}"), kilobytes * 1000)


def run(what: str, logs: Path, lake: Path, more: Sequence[str] = ()) -> None:
    """Waits for the command and for whom it left, and prints what it cost and its own profile."""
    shutil.rmtree(lake, ignore_errors=True)
    command = [sys.executable, "-m", "metadata_pipeline.cli", "run", str(logs), "--output", str(lake), *more]
    started, seconds, peak = time.monotonic(), 0.0, 0
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        status = 0
        while True:
            try:
                pid, code, used = os.wait3(0)
            except ChildProcessError:
                break
            seconds += used.ru_utime + used.ru_stime
            peak = max(peak, used.ru_maxrss)
            status = code if pid == process.pid else status
        wall = time.monotonic() - started
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines()
    load = os.getloadavg()[0]
    print(f"{what}: {wall:.1f} s by the clock, {seconds:.1f} s of processor, {peak / 1024:.0f} MB, load {load:.1f}")
    print("\n".join(f"  {line}" for line in (lines[-3:] if status == 0 else lines[-30:])), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline_fleet", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--kilobytes", type=int, default=1000)
    parser.add_argument("--alone", action="store_true", help="not beside one cluster of as many bytes")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="of Spark")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    conf = [word for each in options.conf for word in ("--conf", each)]
    many, one = options.directory / "many", options.directory / "one"
    fleet(many, options.clusters, options.kilobytes)
    run(f"{options.clusters} clusters of {options.kilobytes} kB", many, options.directory / "lake", conf)
    if not options.alone:
        fleet(one, 1, options.clusters * options.kilobytes)
        run(f"one cluster of {options.clusters * options.kilobytes} kB", one, options.directory / "lake-of-one", conf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
