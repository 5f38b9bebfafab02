"""Brokers of `data` that are killed, have many partitions or many members: the rows that need clusters of their own."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.clusters import BenchmarkError
from benchmarks.data_cluster import KAFKA, DataCluster, cpu_s, rss_bytes
from support.nodes.processes import NodeProcess

if TYPE_CHECKING:
    from benchmarks.data import Options, Table

WATCHED: Final = 6
"""Partitions of three replicas, written to all the time; each broker leads two."""
MEMBERS: Final = 100
KILLED_PARTITIONS: Final = 1_000
KILLED_BYTES: Final = 2 << 30
MANY: Final = 10_000
TOPICS: Final = 5
QUIET_S: Final = 60.0
Say = Callable[[str], None]


class Watch:
    """Acknowledgements of one record after the other in each partition, as they come."""

    def __init__(self, cluster: DataCluster, topic: str) -> None:
        self.acks: list[tuple[int, float]] = []
        """Partition, wall-clock seconds."""
        command = cluster.load_command("watch", topic, partitions=WATCHED)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            partition, nanoseconds = line.split()
            self.acks.append((int(partition), int(nanoseconds) / 1e9))

    def first_after(self, when: float, partition: int, seconds: float = 60.0) -> float:
        deadline = time.time() + seconds
        while time.time() < deadline:
            for found, at in self.acks:
                if found == partition and at > when:
                    return at
            time.sleep(0.02)
        raise BenchmarkError(f"partition {partition}: nothing acknowledged in {seconds:.0f} s")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def failover(say: Say, options: Options, home: Path, table: Table) -> None:
    """kill -9 of a leader: to the next record that was acknowledged on each of its partitions."""
    for number, kind in enumerate(options.kinds):
        cluster = DataCluster(kind, home / str(number))
        with cluster.running():
            cluster.create("watched", WATCHED, 3)
            watch = Watch(cluster, "watched")
            try:
                for partition in range(WATCHED):
                    watch.first_after(0, partition)
                for turn in range(options.pairs):
                    _kill_one(cluster, watch, cluster.brokers[turn % 3], table)
            finally:
                watch.close()
        say(f"data: failover of {kind}: done")


def _kill_one(cluster: DataCluster, watch: Watch, node: NodeProcess, table: Table) -> None:
    time.sleep(2)
    led = [index for index, (leader, _) in cluster.leaders("watched").items() if leader == node.node_id]
    watch.acks.clear()
    when = time.time()
    node.kill()
    gaps = [watch.first_after(when + 0.005, partition) - when for partition in led]
    for gap in gaps:
        table.add(cluster.kind, "kill -9 of a leader to the next record on its partitions", gap, "s")
    cluster.start_one(node)
    cluster.wait_until_started(node)
    deadline = time.monotonic() + 120
    while any(len(isr) < 3 for _, isr in cluster.leaders("watched").values()):
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{cluster.kind}: not in sync again")
        time.sleep(0.2)
    _elect(cluster)


def _elect(cluster: DataCluster) -> None:
    """Preferred leaders again, so that the next one has some to lose."""
    from confluent_kafka import ElectionType, TopicPartition

    admin = cluster.admin()
    wanted = [TopicPartition("watched", index) for index in range(WATCHED)]
    admin.elect_leaders(ElectionType.PREFERRED, wanted).result(30)


def groups(say: Say, options: Options, home: Path, table: Table) -> None:
    """A hundred members of one group, of the classic protocol."""
    clusters = {kind: DataCluster(kind, home / str(number)) for number, kind in enumerate(options.kinds)}
    try:
        for cluster in clusters.values():
            cluster.start()
            cluster.create("grouped", MEMBERS, 1)
        for pair in range(options.pairs + 1):
            for kind, cluster in clusters.items():
                before = cluster.cpu_s()
                found = cluster.load("group", "grouped", members=MEMBERS, partitions=MEMBERS, seconds=options.seconds)
                if pair == 0:
                    continue  # it warms up
                what = f"group of {MEMBERS} members"
                table.add(kind, f"{what}: all joined", found["joined"], "s")
                table.add(kind, f"{what}: one more, rebalanced", found["rebalance"], "s")
                table.add(kind, f"{what}: commits, wall clock", found["commits"], "1/s", larger=True)
                count = found["commits"] * options.seconds
                cpu = cluster.cpu_s() - before
                table.add(kind, f"{what}: commits for a processor-second", count / cpu, "", larger=True)
            say(f"data: groups, pair {pair}")
    finally:
        for cluster in clusters.values():
            cluster.stop()


def restart(say: Say, options: Options, home: Path, table: Table) -> None:
    """One broker with much in 1,000 partitions, killed while it was written to."""
    for number, kind in enumerate(options.kinds):
        extra = {"offsets.topic.replication.factor": "1"}
        cluster = DataCluster(kind, home / str(number), brokers=1, extra=extra)
        with cluster.running():
            broker = cluster.brokers[0]
            cluster.create("killed", KILLED_PARTITIONS, 1)
            written = 0
            while written < KILLED_BYTES:
                written += cluster.load("produce", "killed", partitions=KILLED_PARTITIONS, seconds=10)["bytes"]
            say(f"data: restart of {kind}: {written / 1e9:.1f} GB")
            for _ in range(min(3, options.pairs)):
                cluster.load("produce", "killed", partitions=KILLED_PARTITIONS, seconds=3)
                broker.kill()
                _note_start(cluster, broker, table, f"start after kill -9, {KILLED_PARTITIONS:,} partitions")


def _note_start(cluster: DataCluster, broker: NodeProcess, table: Table, what: str) -> None:
    began = time.monotonic()
    cluster.start_one(broker)
    cluster.wait_until_started(broker)
    table.add(cluster.kind, f"{what}, wall clock", time.monotonic() - began, "s")
    table.add(cluster.kind, f"{what}, processor", cpu_s(broker.pid), "s")


def many(say: Say, options: Options, home: Path, table: Table) -> None:
    """10,000 partitions on one broker: stopped and started clean, then left alone."""
    for number, kind in enumerate(options.kinds):
        extra = {"offsets.topic.replication.factor": "1", "metadata.log.max.record.bytes.between.snapshots": "500000"}
        cluster = DataCluster(kind, home / str(number), brokers=1, extra=extra)
        with cluster.running():
            broker = cluster.brokers[0]
            for topic in range(TOPICS):
                cluster.create(f"many-{topic}", MANY // TOPICS, 1)
            for topic in range(TOPICS):
                cluster.load("produce", f"many-{topic}", partitions=MANY // TOPICS, size=100, seconds=3, rate=11_000)
            say(f"data: many of {kind}: made")
            for _ in range(min(3, options.pairs)):
                began = time.monotonic()
                code = broker.stop(180)
                if code not in (0, 143):
                    raise BenchmarkError(f"{kind}: the broker ended with {code}")
                table.add(kind, f"clean stop, {MANY:,} partitions, wall clock", time.monotonic() - began, "s")
                _note_start(cluster, broker, table, f"clean start, {MANY:,} partitions")
            time.sleep(20 if kind == KAFKA else 5)
            before = cpu_s(broker.pid)
            time.sleep(QUIET_S)
            used = (cpu_s(broker.pid) - before) / QUIET_S * 100
            table.add(kind, f"idle with {MANY:,} partitions, share of a processor", used, "%")
            table.add(kind, f"idle with {MANY:,} partitions, RSS", rss_bytes(broker.pid) / 1e6, "MB")
            descriptors = len(os.listdir(f"/proc/{broker.pid}/fd"))
            table.add(kind, f"idle with {MANY:,} partitions, descriptors", descriptors, "")


GROUPS: Final[dict[str, Callable[[Say, Options, Path, Table], None]]] = {
    "failover": failover,
    "groups": groups,
    "restart": restart,
    "many": many,
}
