"""One operator and a hundred clusters, and three hundred: memory of the process and seconds of a look, over an API
server and quorums made of values.

A live pass reads and plans; a glance at a quiet cluster takes its objects from the index.

It runs in a process of its own, with all that the operator imports. Memory holds the hundred worlds besides the
operator, so it is an upper bound; the API server's and the nodes' own time is not in a pass.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.report import Figure

if TYPE_CHECKING:
    from support.operator_model.fleet_of_worlds import Fleet

ROOT: Final = Path(__file__).parent.parent
CLUSTERS: Final = (100, 300)
ROUNDS: Final = 5
GOAL_MIB: Final = 256.0


def run(say: Callable[[str], None]) -> list[Figure]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "operator", ROOT / "tests")))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    figures = []
    for count in CLUSTERS:
        say(f"operator: {count} clusters of five nodes in one process")
        command = [sys.executable, "-m", "benchmarks.operator_scale", str(count)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        say(f"operator: {found}")
        name = f"{count} clusters, one operator: "
        figures += [
            Figure("operator", f"{name}memory at most", "MiB", ours=found["mib"], peer=GOAL_MIB, peer_name="the goal"),
            Figure(
                "operator",
                f"{name}a pass, p99",
                "ms",
                ours=found["p99_ms"],
                peer=found["p50_ms"],
                peer_name="its median",
            ),
            Figure(
                "operator",
                f"{name}a glance, p99",
                "ms",
                ours=found["glance_p99_ms"],
                peer=found["glance_p50_ms"],
                peer_name="its median",
            ),
        ]
    return figures


def measure(count: int) -> dict[str, float]:
    """In this process."""
    import kraft_operator.__main__  # noqa: F401  what the operator has in memory besides
    from support.operator_model.fleet_of_worlds import Fleet

    fleet = Fleet(count)
    fleet.settle()
    live = looks(fleet)
    fleet.watch()
    looks(fleet, rounds=1)
    reads = fleet.reads()
    glances = looks(fleet)
    assert fleet.reads() == reads, "a glance asks the API server for nothing"
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "mib": round(mib, 1),
        "p50_ms": round(live[len(live) // 2], 2),
        "p99_ms": round(live[len(live) * 99 // 100], 2),
        "glance_p50_ms": round(glances[len(glances) // 2], 2),
        "glance_p99_ms": round(glances[len(glances) * 99 // 100], 2),
    }


def looks(fleet: Fleet, rounds: int = ROUNDS) -> list[float]:
    """Milliseconds, sorted; what brings the index up to date is not in them."""
    taken = []
    for _ in range(rounds):
        for key in fleet.keys:
            fleet.bring(key)
            began = time.perf_counter()
            fleet.reconciler.reconcile(key)
            taken.append(1000 * (time.perf_counter() - began))
        fleet.pass_time()
    return sorted(taken)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
