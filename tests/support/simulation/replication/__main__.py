"""One schedule of brokers that replicate, or many: `python -m support.simulation.replication --seed 7 --trace`."""

from __future__ import annotations

import argparse
import sys

from simulation.invariants.every import every_invariant
from support.simulation.replication.schedule import Replication, plan_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--trace", action="store_true", help="every event and effect of the controllers as a line")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        plan = plan_of(seed)
        try:
            outcome = Replication(plan, every_invariant(), print if arguments.trace else None).run()
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {error}")
            if arguments.count == 1:
                print(plan)
                raise
        else:
            if arguments.count == 1:
                print(outcome)
    print(f"{arguments.count} schedules, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
