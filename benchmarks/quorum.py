"""Three controllers of each kind, in turn: start, first commit, memory, throughput, latency, failover.

Each round runs every peer once, in alternating order, so that the machine's drift meets all; medians over the rounds are printed with
the ratio to Apache Kafka.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import load
from benchmarks.clusters import KINDS, Kind, Quorum, prepare_class_data_archive
from benchmarks.report import Figure

Say = Callable[[str], None]


def start_once(kind: Kind, directory: Path) -> None:
    quorum = Quorum(kind, directory, count=1)
    quorum.format()
    quorum.start()
    try:
        quorum.wait_until_answering(quorum.controllers[0])
    finally:
        quorum.stop()


def one_round(kind: Kind, directory: Path, seconds: float) -> dict[str, float]:
    quorum = Quorum(kind, directory)
    quorum.format()
    measured: dict[str, float] = {}
    try:
        started = time.perf_counter()
        quorum.start_one(quorum.controllers[0])
        quorum.wait_until_answering(quorum.controllers[0])
        measured["exec to answering"] = time.perf_counter() - started
        quorum.stop()
        started = time.perf_counter()
        quorum.start()
        load.prepare_topic(quorum)
        measured["three-node cold start to first commit"] = time.perf_counter() - started
        port = load.first_commit(quorum)
        time.sleep(2)
        measured["memory of an idle controller"] = median(c.rss_bytes() for c in quorum.controllers) / 1e6
        load.many_in_flight(port, 2.0)
        busy = load.many_in_flight(port, seconds)
        measured["commits per second, 64 in flight"] = busy.per_second
        measured["p99 latency, 64 in flight"] = busy.quantile(0.99)
        alone = load.one_in_flight(port, seconds)
        measured["p50 latency, 1 in flight"] = alone.quantile(0.5)
        measured["p99 latency, 1 in flight"] = alone.quantile(0.99)
        leader = next(c for c in quorum.controllers if c.port == port)
        started = time.perf_counter()
        leader.kill()
        load.first_commit(quorum)
        measured["kill -9 of the leader to the next commit"] = time.perf_counter() - started
    finally:
        quorum.stop()
    return measured


UNITS = {
    "exec to answering": "s", "three-node cold start to first commit": "s", "memory of an idle controller": "MB",
    "commits per second, 64 in flight": "1/s", "p99 latency, 64 in flight": "s", "p50 latency, 1 in flight": "s",
    "p99 latency, 1 in flight": "s", "kill -9 of the leader to the next commit": "s",
}  # fmt: skip


def run(say: Say, *, rounds: int = 3, seconds: float = 5.0) -> list[Figure]:
    work = Path(tempfile.mkdtemp(prefix="quorate-bench-"))
    results: dict[Kind, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    try:
        prepare_class_data_archive(work)
        for kind in KINDS:
            say(f"quorum: a first start of {kind} that is not counted (compiled modules, warm files)")
            start_once(kind, work / f"warm-{kind}")
        for number in range(rounds):
            for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
                say(f"quorum: round {number + 1} of {rounds}, {kind}")
                results[kind].append(one_round(kind, work / f"round-{number}-{kind}", seconds))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [
        Figure("quorum", name, unit, median(r[name] for r in results["quorate"]), median(r[name] for r in results["apache-kafka"]),
               "Apache Kafka 4.3.1", larger_is_better=unit == "1/s")
        for name, unit in UNITS.items()
    ]  # fmt: skip
