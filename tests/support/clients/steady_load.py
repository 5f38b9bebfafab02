"""A client that never stops writing to a cluster of Apache Kafka's brokers while the operator works on it, and what it
was promised.

One topic, three replicas of each partition, of which two have to be in sync; the producer waits for all of them
(acks=all).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER, Story, eventually

TOPIC = "steady"
WRITER = ROOT / "tests" / "support" / "clients" / "steady_writer.py"
# A broker that hangs is no follower in sync any more after 5 s. The backlog keeps its port open to the kubelet's
# probes, and a machine of two cores may take longer than a minute for the first registration.
CONFIG: dict[str, dict[str, str]] = {
    "broker": {
        "min.insync.replicas": "2", "offsets.topic.replication.factor": "3", "replica.lag.time.max.ms": "5000",
        "socket.listen.backlog.size": "1000", "initial.broker.registration.timeout.ms": "240000",
    },
}  # fmt: skip


BROKERS = ("b-100", "b-101")
"""Nodes as their pods name them; no story stops the first one."""


@dataclass(slots=True)
class SteadyLoad:
    story: Story
    process: subprocess.Popen[bytes]
    file: Path
    nodes: Sequence[str]
    bootstrap: str = ""
    """Where the reader asks; the nodes' pods when it is empty."""
    environment: Mapping[str, str] | None = None

    def acknowledged(self) -> set[str]:
        """Numbers of which the producer was told that they are safe."""
        return set(self.file.read_text().split())

    def goes_on(self) -> None:
        """More is acknowledged than was until now."""
        before = len(self.acknowledged())
        eventually("more is acknowledged", lambda: len(self.acknowledged()) > before + 10)

    def stop(self) -> None:
        """What was sent and not answered yet is waited for."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(300)

    def read_back(self) -> set[str]:
        bootstrap = self.bootstrap or _bootstrap(self.story, self.nodes)
        command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "read", bootstrap, TOPIC]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=300, env=self.environment
        )  # fmt: skip
        return set(done.stdout.split())


@contextmanager
def steady_load(story: Story, folder: Path, assignment: str, nodes: Sequence[str] = BROKERS) -> Iterator[SteadyLoad]:
    """`assignment` as kafka-topics takes it: replicas of each partition, the leader first. `nodes`: whom clients ask
    first.
    """
    topics(story, "--create", "--topic", TOPIC, "--replica-assignment", assignment, node=nodes[0])
    file = folder / "acknowledged"
    file.touch()
    command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "write", _bootstrap(story, nodes), TOPIC, str(file)]
    load = SteadyLoad(story, subprocess.Popen(command, stdin=subprocess.PIPE), file, nodes)
    try:
        load.goes_on()
        yield load
    finally:
        load.stop()


def topics(story: Story, *arguments: str, node: str = BROKERS[0]) -> str:
    """Kafka's tool for topics, asking a broker that no story stops."""
    servers = _bootstrap(story, (node,))
    return story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", servers, *arguments)


def _bootstrap(story: Story, nodes: Sequence[str]) -> str:
    """Of the pods themselves: a Service's address is no address on this machine, and may lead to a broker
    that hangs.
    """
    domain = f"{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
    return ",".join(f"{story.name}-{node}-0.{domain}" for node in nodes)
