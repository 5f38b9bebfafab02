"""Replay one seed, or try many: `PYTHONPATH=.:tests python -m support.simulation --seed 7 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from functools import partial
from hashlib import blake2b

from simulation.invariants.every import every_invariant
from support.simulation.campaign import run_campaign
from support.simulation.plan import Plan, plan_of
from support.simulation.schedule import Schedule
from support.simulation.shrink import shrink


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1, help="try this many seeds, from --seed on")
    parser.add_argument("--trace", action="store_true", help="print every event and effect")
    parser.add_argument("--without", type=int, nargs="*", default=[], help="leave out these faults, by number")
    parser.add_argument("--shrink", action="store_true", help="find which faults are needed for the failure")
    parser.add_argument(
        "--digest", action="store_true", help="print a checksum of the trace: the same in every process"
    )
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None, help="begin no more after this long")
    arguments = parser.parse_args()
    if arguments.count > 1:
        return many(range(arguments.seed, arguments.seed + arguments.count), arguments.processes, arguments.seconds)
    plan = plan_of(arguments.seed).without(set(arguments.without))
    if arguments.shrink:
        print(shrink(plan, print))
        return 1
    if arguments.digest:
        print(digest(plan))
        return 0
    if not arguments.trace:
        print(plan)
    try:
        schedule = Schedule.of(plan, every_invariant())
        schedule.world.tracer = print if arguments.trace else None
        print(schedule.run())
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def digest(plan: Plan) -> str:
    checksum = blake2b(digest_size=16)
    schedule = Schedule.of(plan, every_invariant())
    schedule.world.tracer = lambda line: checksum.update(line.encode())
    schedule.run()
    return checksum.hexdigest()


def many(seeds: range, processes: int | None, seconds: float | None) -> int:
    began = time.perf_counter()
    campaign = run_campaign(seeds, processes, seconds=seconds, say=partial(print, flush=True))
    cut = "" if campaign.count >= len(seeds) else f" ({len(seeds):,} were wanted: the time was up)"
    print(f"{campaign.summary()}, seeds from {seeds.start}{cut if not campaign.failures else ''}")
    print(f"{time.perf_counter() - began:.1f} s")
    if campaign.failures:
        print(campaign.complaint())
    return 1 if campaign.failures else 0


sys.exit(main())
