"""`python -m benchmarks [area ...]`: every measurement beside its peer in the same run, as a table of ratios and as JSON.

    python -m benchmarks                 wire, quorum and image
    python -m benchmarks quorum --rounds 5 --json results.json
    python -m benchmarks operator        on the single-machine Kubernetes (root, Go)

Apache Kafka's part needs Java and Maven; the areas take about one, three and two minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the peers are started by the code that the tests use

AREAS: Final = ("wire", "quorum", "image", "operator")
BY_DEFAULT: Final = ("wire", "quorum", "image")


def main(arguments: list[str] | None = None) -> int:
    from benchmarks import quorum, wire
    from benchmarks.report import Figure, table, write_json

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("areas", nargs="*", default=BY_DEFAULT, metavar="area", help=f"one of {', '.join(AREAS)}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the quorum benchmark")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of load in each round")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "latest.json")
    options = parser.parse_args(arguments)
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no such area: {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    if "wire" in options.areas:
        print("wire: codecs and record batches beside kafka-python", file=sys.stderr, flush=True)
        figures += wire.measure()
    if "quorum" in options.areas:
        figures += quorum.run(
            lambda text: print(text, file=sys.stderr, flush=True), rounds=options.rounds, seconds=options.seconds
        )
    if "operator" in options.areas:
        from benchmarks import kubernetes

        figures += kubernetes.run(lambda text: print(text, file=sys.stderr, flush=True), rounds=options.rounds)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if figures:
        print(table(figures))
        write_json(figures, options.json)
        print(f"written to {options.json}")
    if "image" in options.areas:
        print(
            "image: memory and replay time of 100,000 and a million partitions (no peer: figures of ours only)",
            flush=True,
        )
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / "image.py")], check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
