"""One operator and a hundred clusters: memory of the process and seconds of a pass, over an API server and quorums made of values.

It runs in a process of its own, with all that the operator imports. Memory holds the hundred worlds besides the operator, so it is an upper bound; the API server's
and the nodes' own time is not in a pass.
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
from typing import Final

from benchmarks.report import Figure

ROOT: Final = Path(__file__).parent.parent
CLUSTERS: Final = 100
ROUNDS: Final = 5
GOAL_MIB: Final = 256.0


def run(say: Callable[[str], None]) -> list[Figure]:
    say(f"operator: {CLUSTERS} clusters of five nodes in one process")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "operator", ROOT / "tests")))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "benchmarks.operator_scale"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    say(f"operator: {found}")
    name = f"{CLUSTERS} clusters, one operator: "
    return [
        Figure("operator", f"{name}memory at most", "MiB", found["mib"], GOAL_MIB, "the goal"),
        Figure("operator", f"{name}a pass, p99", "ms", found["p99_ms"], found["p50_ms"], "its median"),
    ]


def measure() -> dict[str, float]:
    """In this process."""
    import kraft_operator.__main__  # noqa: F401  what the operator has in memory besides
    from support.fleet_of_worlds import Fleet

    fleet = Fleet(CLUSTERS)
    fleet.settle()
    taken: list[float] = []
    for _ in range(ROUNDS):
        for key in fleet.keys:
            began = time.perf_counter()
            fleet.reconcile(key)
            taken.append(1000 * (time.perf_counter() - began))
        fleet.pass_time()
    taken.sort()
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "mib": round(mib, 1),
        "p50_ms": round(taken[len(taken) // 2], 2),
        "p99_ms": round(taken[len(taken) * 99 // 100], 2),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
