"""Replay one seed, or try many: `PYTHONPATH=.:tests python -m support.simulation --seed 7 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from simulation.invariants.every import every_invariant
from support.simulation.schedule import Schedule


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1, help="try this many seeds, from --seed on")
    parser.add_argument("--trace", action="store_true", help="print every event and effect")
    arguments = parser.parse_args()
    began = time.perf_counter()
    failed: list[int] = []
    steps = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            outcome = Schedule(seed, every_invariant(), print if arguments.trace else None).run()
            steps += outcome.steps
            if arguments.count == 1:
                print(outcome)
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {error}")
            if arguments.count == 1:
                traceback.print_exc()
    spent = time.perf_counter() - began
    print(f"{arguments.count} schedules, {steps} steps, {spent:.1f} s, failed: {failed}")
    return 1 if failed else 0


sys.exit(main())
