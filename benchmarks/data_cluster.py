"""One controller and three brokers of one kind, to be given data: ours, or Apache Kafka with its own defaults.

Apache Kafka has the heap, the collector and the compilers of its start script (`-Xmx1G`, G1), and a class-data archive
is not used: what is measured here is data, not a start. Both have the same `server.properties`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks import programs
from benchmarks.clusters import BenchmarkError
from support.apache_kafka import java_kafka
from support.nodes.processes import Cluster, NodeProcess

OURS: Final = "Quorate"
KAFKA: Final = "Apache Kafka 4.3.1"
KINDS: Final = (OURS, KAFKA)
SETTINGS: Final = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "10",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "log.segment.bytes": str(256 << 20),
}
JAVA_FLAGS: Final = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
)  # fmt: skip
START_S: Final = 400.0


class DataCluster:
    def __init__(
        self, kind: str, directory: Path, *, brokers: int = 3, extra: Mapping[str, str] | None = None, profiled: int = 0
    ) -> None:
        """`profiled`: the broker of ours that leaves a profile in its directory when it is stopped."""
        self.kind = kind
        self._cluster = Cluster(directory, controllers=1, brokers=brokers, extra={**SETTINGS, **(extra or {})})
        for node in self._cluster.nodes.values():
            del node.properties["metadata.max.idle.interval.ms"]
            if kind == KAFKA:
                del node.properties["quorate.http.listener"]
        self._profiled = profiled
        self.brokers: list[NodeProcess] = self._cluster.broker_nodes
        self._cluster.format()

    def start(self) -> None:
        for node in self._cluster.nodes.values():
            self.start_one(node)
        for node in self.brokers:
            self.wait_until_started(node)

    def start_one(self, node: NodeProcess) -> None:
        """Its log begins anew, so that it tells of this start only."""
        with node.log_file.open("wb") as log:
            node.process = subprocess.Popen(
                self._command(node), stdout=log, stderr=log, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
            )

    def _command(self, node: NodeProcess) -> list[str]:
        if self.kind == KAFKA:
            command = java_kafka.command("kafka-server-start", [str(node.properties_file)], log_level="INFO")
            return [command[0], *JAVA_FLAGS, *command[command.index(java_kafka.JVM_FLAGS[-1]) + 1 :]]
        profile = ["-m", "cProfile", "-o", str(node.directory / "profile")] if node.node_id == self._profiled else []
        return [
            sys.executable,
            *profile,
            "-m",
            "controller_runtime.cli.main",
            "server-start",
            str(node.properties_file),
        ]

    def wait_until_started(self, node: NodeProcess, seconds: float = START_S) -> None:
        """Unfenced, so that it leads what it may lead."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and node.is_running:
            if self._has_started(node):
                return
            time.sleep(0.01)
        raise BenchmarkError(f"{self.kind}: broker {node.node_id} did not start: {node.log()[-2000:]}")

    def _has_started(self, node: NodeProcess) -> bool:
        if self.kind == KAFKA:
            return "Transition from STARTING to STARTED" in node.log()
        try:
            return node.http("/readyz")[0] == 200
        except TimeoutError:
            return False  # it is busy

    @property
    def addresses(self) -> str:
        return self._cluster.bootstrap_servers

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.addresses})

    def create(self, topic: str, partitions: int, replicas: int) -> None:
        admin = self.admin()
        created = admin.create_topics([NewTopic(topic, partitions, replicas)], operation_timeout=60)
        created[topic].result(90)
        deadline = time.monotonic() + 60
        while any(len(isr) < replicas or leader < 0 for leader, isr in self.leaders(topic).values()):
            if time.monotonic() > deadline:
                raise BenchmarkError(f"{self.kind}: {topic} has not all replicas in sync")
            time.sleep(0.1)

    def leaders(self, topic: str) -> dict[int, tuple[int, list[int]]]:
        """By partition: its leader and who is in sync."""
        admin = self.admin()
        found = admin.list_topics(topic, timeout=30).topics[topic].partitions
        return {index: (one.leader, one.isrs) for index, one in found.items()}

    def load(self, mode: str, topic: str, **options: float) -> dict[str, Any]:
        """One run of the load generator: what it printed."""
        done = subprocess.run(
            self.load_command(mode, topic, **options), capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise BenchmarkError(f"{self.kind}: {mode}: {done.stderr[-1000:]}")
        return dict(json.loads(done.stdout))

    def load_command(self, mode: str, topic: str, **options: float) -> list[str]:
        program = str(programs.go_program("data"))
        flags = [part for name, value in options.items() for part in (f"-{name}", str(value))]
        return [program, mode, "-brokers", self.addresses, "-topic", topic, *flags]

    def cpu_s(self) -> float:
        """Of all brokers together, since they began."""
        return sum(cpu_s(node.pid) for node in self.brokers if node.is_running)

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            self.start()
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        for node in reversed(self._cluster.nodes.values()):
            if node.node_id == self._profiled and node.is_running:
                os.kill(node.pid, signal.SIGINT)
                node.wait(60)
            node.kill()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_bytes(pid: int) -> int:
    """Without what it has mapped of files: Kafka maps its indexes, and they are the page cache's."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Rss")
    )
    return int(fields["RssAnon"].split()[0]) * 1024
