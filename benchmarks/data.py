"""What three brokers do with records, ours beside Apache Kafka 4.3.1 on the same machine in the same run.

One controller and three brokers of each kind run side by side, idle but for the one that is measured; pairs are
interleaved and their order turns. The load is franz-go's (`benchmarks/go/data`), idempotent, acks=all, 6 partitions,
without compression, and for one row Java's own `kafka-producer-perf-test`. Processor seconds are those of the three
brokers together. On a machine that others use, too, the rows of processor seconds are the ones to read; wall-clock rows
are good for their ratio only.

Groups: produce, consume, latency, memory, failover, groups, restart, many (`data_faults` has the last four).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.data_cluster import KAFKA, KINDS, OURS, DataCluster, rss_bytes
from benchmarks.report import Row
from support.apache_kafka import java_kafka

AREA: Final = "data"
PARTITIONS: Final = 6
GROUPS: Final = ("produce", "consume", "latency", "memory", "failover", "groups", "restart", "many")
WARM_UP_S: Final = {OURS: 3.0, KAFKA: 20.0}
"""The virtual machine compiles what it runs often."""
PERF_RECORDS: Final = 100_000
LOADED_PARTITIONS: Final = 1_000
Say = Callable[[str], None]


@dataclass(slots=True)
class Table:
    """Samples by row and kind, in the order in which rows came."""

    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    about: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Unit, and whether larger is better."""

    def add(self, kind: str, name: str, value: float, unit: str, *, larger: bool = False) -> None:
        self.about[name] = (unit, larger)
        self.samples.setdefault(name, {}).setdefault(kind, []).append(value)

    def rows(self) -> list[Row]:
        return [
            Row(
                AREA,
                name,
                self.about[name][0],
                {kind: median(values) for kind, values in by_kind.items()},
                {kind: len(values) for kind, values in by_kind.items()},
                larger_is_better=self.about[name][1],
            )
            for name, by_kind in self.samples.items()
        ]


@dataclass(frozen=True, slots=True)
class Options:
    pairs: int
    seconds: float
    only: tuple[str, ...]
    kinds: tuple[str, ...] = KINDS

    def wants(self, group: str) -> bool:
        return not self.only or group in self.only


class Bench:
    """Both clusters, and what was measured of them."""

    def __init__(self, say: Say, options: Options, home: Path, table: Table) -> None:
        self.say = say
        self.options = options
        self.table = table
        self.clusters = {kind: DataCluster(kind, home / f"cluster-{n}") for n, kind in enumerate(options.kinds)}
        self._topics = 0

    def run(self) -> None:
        options = self.options
        try:
            for kind, cluster in self.clusters.items():
                cluster.start()
                time.sleep(5)
                self._note_rss(kind, "RSS, idle broker")
            for kind, cluster in self.clusters.items():
                for size in (1024, 100):
                    topic = self.topic(cluster, 3)
                    cluster.load("produce", topic, partitions=PARTITIONS, size=size, seconds=WARM_UP_S[kind] / 2)
                    cluster.load("consume", topic, partitions=PARTITIONS)
            for pair in range(options.pairs):
                self.say(f"data: pair {pair + 1} of {options.pairs}, load {os.getloadavg()[0]:.1f}")
                self._pair(pair)
            if options.wants("memory"):
                self._memory()
        finally:
            for cluster in self.clusters.values():
                cluster.stop()

    def _pair(self, pair: int) -> None:
        if self.options.wants("produce") or self.options.wants("consume"):
            for replicas, size in ((1, 1024), (3, 1024), (1, 100), (3, 100)):
                for kind in self.turn(pair):
                    self._produce_and_consume(kind, replicas, size)
            for kind in self.turn(pair):
                self._perf_test(kind)
        if self.options.wants("latency"):
            for kind in self.turn(pair):
                self._end_to_end(kind)
            self._at_half(pair)

    def turn(self, pair: int) -> Iterable[str]:
        kinds = list(self.options.kinds)
        return kinds if pair % 2 == 0 else reversed(kinds)

    def topic(self, cluster: DataCluster, replicas: int, partitions: int = PARTITIONS) -> str:
        self._topics += 1
        topic = f"data-{self._topics}"
        cluster.create(topic, partitions, replicas)
        return topic

    def note(self, kind: str, name: str, value: float, unit: str, *, larger: bool = False) -> None:
        self.table.add(kind, name, value, unit, larger=larger)

    def _measured(self, cluster: DataCluster, mode: str, topic: str, **options: float) -> tuple[dict[str, Any], float]:
        before = cluster.cpu_s()
        result = cluster.load(mode, topic, partitions=PARTITIONS, **options)
        return result, cluster.cpu_s() - before

    def _produce_and_consume(self, kind: str, replicas: int, size: int) -> None:
        cluster = self.clusters[kind]
        topic = self.topic(cluster, replicas)
        result, cpu = self._measured(cluster, "produce", topic, size=size, seconds=self.options.seconds)
        what = f"{'1 KiB' if size == 1024 else f'{size} B'}, RF {replicas}"
        self._note_rate(kind, f"produce {what}", result, cpu)
        if replicas > 1 or not self.options.wants("consume"):
            return
        for name in ("hot", "cold"):
            if name == "cold":
                cool(cluster, topic)
            result, cpu = self._measured(cluster, "consume", topic)
            self._note_rate(kind, f"consume {what}, {name}", result, cpu)

    def _note_rate(self, kind: str, what: str, result: Mapping[str, float], cpu: float) -> None:
        megabytes = result["bytes"] / 1e6
        self.note(kind, f"{what}, wall clock", megabytes / result["seconds"], "MB/s", larger=True)
        self.note(kind, f"{what}, for a processor-second", megabytes / max(cpu, 0.01), "MB", larger=True)

    def _perf_test(self, kind: str) -> None:
        cluster = self.clusters[kind]
        topic = self.topic(cluster, 1)
        arguments = ["--topic", topic, "--num-records", str(PERF_RECORDS), "--record-size", "1024"]
        arguments += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={cluster.addresses}", "acks=all"]
        before = cluster.cpu_s()
        done = java_kafka.run_tool("kafka-producer-perf-test", *arguments, timeout_s=300)
        cpu = cluster.cpu_s() - before
        found = re.findall(r"records sent, ([\d.]+) records/sec", done.out)
        assert found, done
        megabytes = PERF_RECORDS * 1024 / 1e6
        what = "kafka-producer-perf-test, 1 KiB, RF 1"
        self.note(kind, f"{what}, wall clock", float(found[-1]) * 1024 / 1e6, "MB/s", larger=True)
        self.note(kind, f"{what}, for a processor-second", megabytes / cpu, "MB", larger=True)

    def _end_to_end(self, kind: str) -> None:
        cluster = self.clusters[kind]
        for replicas in (1, 3):
            topic = self.topic(cluster, replicas)
            result, cpu = self._measured(cluster, "latency", topic, size=100, seconds=self.options.seconds)
            what = f"end to end, one record at a time, RF {replicas}"
            self.note(kind, f"{what}, p50", result["p50"], "s")
            self.note(kind, f"{what}, p99", result["p99"], "s")
            self.note(kind, f"{what}, processor", cpu / max(1, result["records"]), "s")

    def _at_half(self, pair: int) -> None:
        """Produce at half of what Kafka took a moment ago."""
        peer = self.clusters[self.options.kinds[-1]]
        most = peer.load("produce", self.topic(peer, 3), partitions=PARTITIONS, seconds=self.options.seconds)
        rate = most["records"] / most["seconds"] / 2
        for kind in self.turn(pair):
            cluster = self.clusters[kind]
            topic = self.topic(cluster, 3)
            result, cpu = self._measured(cluster, "produce", topic, rate=rate, seconds=self.options.seconds)
            what = "produce 1 KiB, RF 3, at half of Kafka's maximum"
            self.note(kind, f"{what}, p50", result["p50"], "s")
            self.note(kind, f"{what}, p99", result["p99"], "s")
            self.note(kind, f"{what}, processors", cpu / result["seconds"], "")

    def _memory(self) -> None:
        for kind, cluster in self.clusters.items():
            topic = self.topic(cluster, 3, LOADED_PARTITIONS)
            cluster.load("produce", topic, partitions=LOADED_PARTITIONS, seconds=10, rate=20_000)
            self._note_rss(kind, f"RSS, {LOADED_PARTITIONS:,} partitions of 3 replicas under load")

    def _note_rss(self, kind: str, name: str) -> None:
        """The median of the three."""
        sizes = [rss_bytes(node.pid) / 1e6 for node in self.clusters[kind].brokers]
        self.note(kind, name, median(sizes), "MB")


def cool(cluster: DataCluster, topic: str) -> None:
    """Take the topic's segments out of the page cache."""
    for node in cluster.brokers:
        for path in (node.directory / "data").glob(f"{topic}-*/*.log"):
            file = os.open(path, os.O_RDONLY)
            os.fdatasync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def run(say: Say, options: Options, so_far: Callable[[list[Row]], None]) -> list[Row]:
    from benchmarks import data_faults

    home = Path(tempfile.mkdtemp(prefix="quorate-data-"))
    table = Table()
    try:
        if any(options.wants(group) for group in ("produce", "consume", "latency", "memory")):
            Bench(say, options, home / "rates", table).run()
            so_far(table.rows())
        for group, measure in data_faults.GROUPS.items():
            if options.wants(group):
                say(f"data: {group}, load {os.getloadavg()[0]:.1f}")
                measure(say, options, home / group, table)
                so_far(table.rows())
                shutil.rmtree(home / group, ignore_errors=True)
    except subprocess.TimeoutExpired as error:
        say(f"data: {error}")
        raise
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return table.rows()
