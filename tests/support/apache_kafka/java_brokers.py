"""Brokers of Apache Kafka under controllers of ours: started, killed, rolled, and what either kind holds against the
other.

    with JavaBrokers(tmp_path, controllers=3) as nodes:
        nodes.start()
        nodes.kill(11)
        nodes.boot(11)

Controllers are 1.., brokers 11..: one number names a node of either kind.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controller_runtime.admin.client import AdminClient as QuorateAdmin
from controller_runtime.admin.results import PartitionDescription, TopicDescription
from support.apache_kafka.java_kafka import JavaNode, ToolResult, run_tool
from support.nodes.processes import Cluster, eventually

SECONDS: Final = 180.0
STARTED: Final = "Transition from STARTING to STARTED"
SMALL: Final = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}
"""Of a broker whose clients are a handful: its own topics cost less to make."""
NOT_SERVED: Final = ("UNSUPPORTED_VERSION", "INVALID_REQUEST", "UNKNOWN_SERVER_ERROR")
_REFUSED: Final = re.compile(
    r".*(?:UnsupportedVersionException|InvalidRequestException|UnknownServerException|UNKNOWN_SERVER_ERROR).*"
)
_FATAL: Final = re.compile(r".*(?:ERROR|FATAL) .*(?:[Ff]atal|IllegalState|AssertionError).*")
_ERRORS: Final = re.compile(
    r"^kafka_network_requestmetrics_errorspersec_count\{request=\"(\w+)\",error=\"(\w+)\".* (\d+)$"
)


class JavaBrokers:
    def __init__(
        self, directory: Path, *, controllers: int = 1, brokers: int = 3, extra: Mapping[str, str] | None = None
    ) -> None:
        self.cluster = Cluster(directory, controllers=controllers, brokers=brokers)
        for node in self.cluster.broker_nodes:
            node.properties |= SMALL | dict(extra or {})
        self.brokers = tuple(node.node_id for node in self.cluster.broker_nodes)
        self.controllers = tuple(node.node_id for node in self.cluster.controller_nodes)
        self._java: dict[int, JavaNode] = {}
        self._starts = dict.fromkeys(self.brokers, 0)

    # life of nodes

    def start(self, *format_options: str) -> None:
        self.cluster.format(*format_options)
        for controller in self.controllers:
            self.boot(controller)
        self.cluster.wait_for_leader(seconds=SECONDS)
        for broker in self.brokers:
            self.boot(broker)
        for broker in self.brokers:
            self.wait_until_started(broker)

    def boot(self, node_id: int) -> None:
        node = self.cluster.nodes[node_id]
        if node_id in self.controllers:
            node.start()
            return
        self._starts[node_id] += 1
        self._java[node_id] = JavaNode(node.properties_file, self.java_log(node_id))

    def kill(self, node_id: int) -> None:
        """SIGKILL."""
        if java := self._java.pop(node_id, None):
            java.kill()
        self.cluster.nodes[node_id].kill()

    def stop(self, node_id: int) -> None:
        """SIGTERM, and a clean end; a broker is drained first."""
        if java := self._java.pop(node_id, None):
            java.stop(SECONDS)
        else:
            assert self.cluster.nodes[node_id].stop(SECONDS) == 0, self.cluster.nodes[node_id].log()[-2500:]

    def wait_until_started(self, broker: int) -> None:
        def there() -> bool:
            assert self._java[broker].process.poll() is None, self.java_text(broker)[-2500:]
            return self.java_text(broker).count(STARTED) >= self._starts[broker]

        eventually(f"broker {broker} runs", there, SECONDS)

    # where things are

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    def java_log(self, broker: int) -> Path:
        return self.cluster.nodes[broker].directory / "java.log"

    def java_text(self, broker: int) -> str:
        log = self.java_log(broker)
        return log.read_text(errors="replace") if log.exists() else ""

    def tool(self, name: str, *arguments: str, stdin: str = "") -> ToolResult:
        """One of Apache Kafka's, at the brokers; it has to succeed."""
        done = run_tool(name, "--bootstrap-server", self.servers, *arguments, stdin=stdin, timeout_s=SECONDS)
        assert done.rc == 0, done
        return done

    # what the cluster says

    def partitions(self, topic: str) -> tuple[PartitionDescription, ...]:
        async def ask() -> tuple[PartitionDescription, ...]:
            async with QuorateAdmin(bootstrap_servers=self.servers, timeout_seconds=10) as admin:
                found = (await admin.describe_topics([topic]))[topic]
            return tuple(found.partitions) if isinstance(found, TopicDescription) else ()

        return asyncio.run(ask())

    def wait_for(self, what: str, topic: str, seen: Callable[[PartitionDescription], bool]) -> None:
        """Until every partition of this topic is as `seen` wants it."""
        eventually(what, lambda: bool(found := self.partitions(topic)) and all(map(seen, found)), SECONDS)

    def wait_until_in_sync(self, topic: str) -> None:
        self.wait_for(f"all replicas of {topic} are in sync", topic, lambda it: set(it.isr) == set(it.replicas))

    def wait_until_voters_follow(self) -> None:
        """Every controller has what was committed when it was asked first."""

        def following() -> bool:
            seen = self.cluster.quorum(5.0)
            goal.append(int(seen.high_watermark))
            return len(seen.voters) == len(self.controllers) and all(
                one.log_end_offset >= goal[0] for one in seen.voters
            )

        goal: list[int] = []
        eventually("all controllers follow", following, SECONDS)

    # what one kind holds against the other

    def refused(self) -> list[str]:
        """What Java's brokers logged of requests that were not served, and of what cannot be."""
        logs = [self.java_text(broker) for broker in self.brokers]
        return [line for log in logs for line in (*_REFUSED.findall(log), *_FATAL.findall(log))]

    def not_served(self) -> dict[tuple[str, str], int]:
        """What our running controllers answered as to one who asks what they do not know, by API and error."""
        found: dict[tuple[str, str], int] = {}
        for controller in self.controllers:
            text = self.cluster.nodes[controller].http("/metrics")[1]
            for name, error, count in (hit.groups() for hit in map(_ERRORS.match, text.splitlines()) if hit):
                if error in NOT_SERVED and int(count):
                    found[name, error] = found.get((name, error), 0) + int(count)
        return found

    # the end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node_id in (*self.brokers, *self.controllers):
            self.kill(node_id)
        if error is not None:
            for node_id, node in self.cluster.nodes.items():
                said = self.java_text(node_id) if node_id in self.brokers else node.log()
                print(f"--- node {node_id}\n{said[-2500:]}")
