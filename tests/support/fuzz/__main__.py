"""Fuzz running nodes from the command line.

PYTHONPATH=.:tests .venv/bin/python -m support.fuzz --seed 7 --count 1000000
PYTHONPATH=.:tests .venv/bin/python -m support.fuzz --seed 7 --first 4000 --count 2000 --shrink
PYTHONPATH=.:tests .venv/bin/python -m support.fuzz --seed 7 --first 4711 --count 1 --show
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from support.fuzz.run import Bounds, Finding, run
from support.fuzz.shots import named, shot
from support.fuzz.shrink import lines, on_fresh_nodes, shrink

SUMMARY: Final = "in all: "
"""What a test tells of the run."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first", type=int, default=0, help="the number of the first frame")
    parser.add_argument("--count", type=int, help="how many frames")
    parser.add_argument("--seconds", type=float, help="how long")
    parser.add_argument("--stop", action="store_true", help="end at the first finding")
    parser.add_argument("--shrink", action="store_true", help="look for the few frames that do it, and print them")
    parser.add_argument("--show", action="store_true", help="print the frames and send nothing")
    parser.add_argument("--directory", help="where the nodes' directories are made")
    options = parser.parse_args()
    if options.show:
        for number in range(options.first, options.first + (options.count or 1)):
            print(named(shot(options.seed, number)), shot(options.seed, number).payload.hex()[:4000])
        return 0
    with tempfile.TemporaryDirectory(prefix="quorate-fuzz-", dir=options.directory) as directory:
        bounds = Bounds(options.seed, options.first, options.count, options.seconds, options.stop or options.shrink)
        result = run(Path(directory), bounds)
        print(
            "\n".join([*result.account.errors_told(), *(f"{SUMMARY}{each}" for each in result.sentences())]), flush=True
        )
        if options.shrink:
            _shrink(result.findings, Path(directory))
    return 1 if result.findings else 0


def _shrink(findings: list[Finding], directory: Path) -> None:
    for finding in findings:
        found = shrink(finding, on_fresh_nodes(directory / "shrinking"))
        print("\n".join(lines(found)) if found else "it does not happen again on fresh nodes")


if __name__ == "__main__":
    sys.exit(main())
