"""What produce and fetch requests cost a broker while others wait: `python -m benchmarks.waiting`.

The production broker and data plane on a disk in memory: decisions, waiting and disk work, without sockets.
Microseconds of processor for each produce of 1,000 bytes with acks=all, with so many in flight and so many consumers
waiting on other partitions; and for each fetch that waits and is woken by a record.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.clients.client_requests import fetch, produce
from support.nodes.broker_world import BrokerWorld

PARTITIONS = 100
WAIT_MS = 500_000


def serving() -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    world.controller.create("load", partitions=PARTITIONS)
    world.settle()
    return world


def park(world: BrokerWorld, count: int) -> None:
    """Consumers of all partitions but the first."""
    for number in range(count):
        request = fetch("load", 0, wait_ms=WAIT_MS, index=1 + number % (PARTITIONS - 1))
        world.send(request, version=12, connection=100 + number)


def produces(waiting: int, in_flight: int, count: int) -> float:
    world = serving()
    park(world, waiting)
    request = produce("load", b"x" * 1000, timeout_ms=30_000)
    began = time.process_time()
    for _ in range(count // in_flight):
        for _ in range(in_flight):
            world.send(request, version=9)
        world.perform_data()
    return (time.process_time() - began) / count * 1e6


def wakes(waiting: int, count: int) -> float:
    """A fetch parks, a record comes, the fetch is answered: both requests together."""
    world = serving()
    park(world, waiting)
    request = produce("load", b"x" * 1000, timeout_ms=30_000)
    began = time.process_time()
    for offset in range(count):
        world.send(fetch("load", offset, wait_ms=WAIT_MS), version=12, connection=1)
        world.send(request, version=9, connection=2)
        world.perform_data()
    return (time.process_time() - began) / count * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    count = parser.parse_args().count
    for waiting, in_flight in ((0, 1), (0, 100), (0, 1000), (1000, 1), (1000, 100)):
        took = round(produces(waiting, in_flight, count), 1)
        print(json.dumps({"request": "produce", "waiting": waiting, "in flight": in_flight, "us": took}))
    for waiting in (0, 1000):
        print(json.dumps({"request": "fetch and produce", "waiting": waiting, "us": round(wakes(waiting, count), 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
