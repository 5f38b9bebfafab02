"""Three voters of each kind, in turn: the rows of the table in docs/performance.md.

A pair is one run of every kind, in an order that changes from pair to pair, so that the machine's drift meets all;
medians over the pairs are printed with the ratio to each peer. Rows come in groups that can be asked for one by one
(`--only load`).
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import broker_loss, failover, load, partitions
from benchmarks.appends import measure as measure_appends
from benchmarks.clusters import KINDS, BenchmarkError, Kind, Quorum, prepare_class_data_archive
from benchmarks.report import Row, quantity

Say = Callable[[str], None]
Samples = dict[str, list[float]]

PARTITIONS: Final = 100_000
PEER_NAMES: Final = {"quorate": "Quorate", "apache-kafka": "Apache Kafka 4.3.1", "etcd": "etcd 3.6.8"}


@dataclass(frozen=True, slots=True)
class Options:
    pairs: int = 5
    seconds: float = 5.0
    faults: int = 4
    """Faults of each sort in one pair: percentiles are over all pairs' faults."""
    groups: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = KINDS


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that one run of one kind gives."""

    name: str
    run: Callable[[Kind, Path, Options], Samples]
    kinds: tuple[Kind, ...] = KINDS


def busy(kind: Kind, directory: Path, options: Options) -> Samples:
    """Throughput, latency, processors and syncs of one quorum under load."""
    quorum = Quorum(kind, directory, count_syncs=True)
    quorum.format()
    quorum.start()
    try:
        leader = load.prepare(quorum)
        time.sleep(2)
        load.run(quorum, leader, 3.0)  # compiled, warm
        members = [leader, *(member for member in quorum.members if member is not leader)]
        cpu, syncs = [m.cpu_s() for m in members], [quorum.syncs(m) for m in members]
        many = load.run(quorum, leader, options.seconds)
        used = [(m.cpu_s() - before) / many.seconds for m, before in zip(members, cpu, strict=True)]
        synced = [(quorum.syncs(m) - before) / many.seconds for m, before in zip(members, syncs, strict=True)]
        syncs = [quorum.syncs(m) for m in members]
        one = load.run(quorum, leader, options.seconds, connections=1)
        synced_alone = [(quorum.syncs(m) - before) / one.commits for m, before in zip(members, syncs, strict=True)]
        return {
            "records/s, 64 connections": [many.per_second],
            "p50 latency, 64 connections": [many.p50],
            "p99 latency, 64 connections": [many.p99],
            "p50 latency, 1 in flight": [one.p50],
            "p99 latency, 1 in flight": [one.p99],
            "records per processor-second of all voters": [many.per_second / sum(used)],
            "processors used by the leader, 64 connections": [used[0]],
            "processors used by a follower, 64 connections": [median(used[1:])],
            "processors used by the load generator": [many.cpu / many.seconds],
            "syncs/s of the leader, 64 connections": [synced[0]],
            "syncs/s of a follower, 64 connections": [median(synced[1:])],
            "syncs of a follower per commit, 1 in flight": [median(synced_alone[1:])],
        }
    finally:
        quorum.stop()


def creating(kind: Kind, directory: Path, options: Options) -> Samples:
    """Topics of one partition, each by a request of its own."""
    quorum = Quorum(kind, directory)
    quorum.format()
    quorum.start()
    try:
        leader = load.prepare(quorum)
        with load.alive(leader):
            load.run(quorum, leader, 3.0, topics=True)  # compiled, warm
            used = leader.cpu_s()
            many = load.run(quorum, leader, options.seconds, topics=True)
            used = leader.cpu_s() - used
    finally:
        quorum.stop()
    return {
        "topics/s, 64 connections": [many.per_second],
        "p50 latency of a topic, 64 connections": [many.p50],
        "topics per processor-second of the leader": [many.commits / used],
    }


def starting(kind: Kind, directory: Path, options: Options) -> Samples:
    """From exec to an answer, from exec to a commit, and the memory of who has nothing to do."""
    del options
    single = Quorum(kind, directory / "single", count=1)
    single.format()
    started = time.perf_counter()
    single.start()
    try:
        single.wait_until_answering(single.members[0])
        answering = time.perf_counter() - started
    finally:
        single.stop()
    quorum = Quorum(kind, directory / "three")
    quorum.format()
    started = time.perf_counter()
    quorum.start()
    try:
        load.first_commit(quorum)
        committed = time.perf_counter() - started
        time.sleep(3)
        idle = median(member.rss_bytes() for member in quorum.members)
    finally:
        quorum.stop()
    return {
        "exec to answering": [answering],
        "three-node cold start to first commit": [committed],
        "RSS, idle": [idle / 1e6],
    }


def large(kind: Kind, directory: Path, options: Options) -> Samples:
    del options
    quorum = Quorum(kind, directory)
    quorum.format()
    quorum.start()
    try:
        partitions.fill(quorum, PARTITIONS)
        middle, most = partitions.resident_bytes_when_settled(quorum)
    finally:
        quorum.stop()
    return {
        "RSS, 100,000 partitions, median of three": [middle / 1e6],
        "RSS, 100,000 partitions, the largest": [most / 1e6],
    }


def appending(kind: Kind, directory: Path, options: Options) -> Samples:
    return {"records/s appended in the leader's process": [measure_appends(kind, directory, options.seconds * 2)]}


GROUPS: Final = (
    Group("load", busy),
    Group("topics", creating, ("quorate", "apache-kafka")),
    Group("append", appending, ("quorate", "apache-kafka")),
    Group("start", starting),
    Group("kill", lambda kind, directory, options: failover.killed(kind, directory, options.faults)),
    Group("freeze", lambda kind, directory, options: failover.frozen(kind, directory, max(1, options.faults // 2))),
    Group("cut", lambda kind, directory, options: failover.cut(kind, directory, max(1, options.faults // 2))),
    Group("memory", large),
    Group("broker", lambda kind, directory, _: broker_loss.lost(kind, directory, 1), ("quorate", "apache-kafka")),
)


def unit_of(name: str) -> str:
    if name.startswith(("records/s", "syncs/s", "topics/s")):
        return "1/s"
    if name.startswith(("records per", "topics per")):
        return ""
    if name.startswith("RSS"):
        return "MB"
    return "" if name.startswith(("processors", "syncs of")) else "s"


def larger_is_better(name: str) -> bool | None:
    """None: neither is better."""
    if name.startswith(("processors", "syncs")):
        return None
    return name.startswith(("records", "topics"))


def run(say: Say, options: Options, partly: Callable[[list[Row]], None] = lambda _: None) -> list[Row]:
    """`partly` gets the rows so far after every group. A run that fails is reported and left out."""
    work = Path(tempfile.mkdtemp(prefix="quorate-bench-"))
    samples: dict[str, dict[Kind, list[float]]] = {}
    rows: list[Row] = []
    try:
        if "apache-kafka" in options.kinds:
            prepare_class_data_archive(work)
        for group in GROUPS:
            if not options.groups or group.name in options.groups:
                _measure(group, say, options, work, samples)
                rows = [row for name, by_kind in samples.items() for row in rows_of(name, by_kind)]
                partly(rows)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return rows


def _measure(group: Group, say: Say, options: Options, work: Path, samples: dict[str, dict[Kind, list[float]]]) -> None:
    kinds = tuple(kind for kind in options.kinds if kind in group.kinds)
    for number in range(options.pairs):
        turn = number % max(1, len(kinds))
        for kind in kinds[turn:] + kinds[:turn]:
            directory = work / f"{group.name}-{number}-{kind}"
            try:
                found = group.run(kind, directory, options)
            except (BenchmarkError, OSError, subprocess.SubprocessError) as error:
                say(f"{group.name}: pair {number + 1} of {options.pairs}, {kind}: FAILED, not counted: {error}")
                continue
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            for name, values in found.items():
                samples.setdefault(name, {}).setdefault(kind, []).extend(values)
            say(f"{group.name}: pair {number + 1} of {options.pairs}, {kind}: {_in_short(found)}")


def _in_short(found: Samples) -> str:
    return "; ".join(f"{name} {quantity(median(values), unit_of(name))}" for name, values in found.items())


def rows_of(name: str, by_kind: dict[Kind, list[float]]) -> list[Row]:
    """One row, or for the commits after a fault the median and the 99th percentile."""

    def row(label: str, statistic: Callable[[Sequence[float]], float]) -> Row:
        values = {PEER_NAMES[kind]: statistic(found) for kind, found in by_kind.items()}
        counts = {PEER_NAMES[kind]: len(found) for kind, found in by_kind.items()}
        return Row(
            "quorum", label, unit_of(name), values=values, samples=counts, larger_is_better=larger_is_better(name)
        )

    if name.endswith("to the next commit"):
        return [row(f"{name}, p50", median), row(f"{name}, p99", lambda v: percentile(v, 0.99))]
    return [row(name, median)]


def percentile(values: Sequence[float], q: float) -> float:
    """The smallest value that at least `q` of all reach; of fewer than a hundred values, the worst."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]
