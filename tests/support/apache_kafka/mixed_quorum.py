"""A quorum whose voters are ours and Java's in any mix, driven by the tools alone: format, start, kill, lose a disk,
add, remove, take over.

    # Node 1 is ours, 2 Java's, 3 ours; node 4 is Java's and no voter yet.
    with MixedQuorum(tmp_path, "OJO", spares="J") as quorum:
        quorum.start()
        quorum.make_lead(2)

A node's directory and properties file are the same for both implementations, so `boot(node, "J")` starts Java on what
ours left. Each node is formatted by the tool of its own kind.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controller_runtime.admin.results import QuorumDescription
from controller_runtime.storage.meta_properties import decode_meta_properties
from support.apache_kafka.java_kafka import JavaNode, ToolResult, run_tool
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, _directory_id, eventually, kraft

OURS: Final = "O"
JAVA: Final = "J"
SECONDS: Final = 120.0
_FATAL: Final = re.compile(r"(?:ERROR|FATAL) .*(?:[Ff]atal|IllegalState|AssertionError).*")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class MixedQuorum:
    def __init__(
        self,
        directory: Path,
        kinds: str,
        *,
        spares: str = "",
        static: bool = False,
        extra: dict[str, str] | None = None,
        brokers: int = 0,
        options: Sequence[str] = (),
    ) -> None:
        """`options`: more words for who formats a node."""
        self.options = tuple(options)
        self.kinds = dict(enumerate(kinds + spares, 1))
        self.first_voters = tuple(range(1, len(kinds) + 1))
        self.static = static
        count = len(self.kinds)
        self.cluster = Cluster(directory, controllers=count, brokers=brokers, static_voters=static, extra=extra or {})
        if static:
            voters = ",".join(f"{n}@{self.cluster.nodes[n].endpoint}" for n in self.first_voters)
            for node in self.cluster.nodes.values():
                node.properties["controller.quorum.voters"] = voters
        self._java: dict[int, JavaNode] = {}

    # life of nodes

    def format(self, nodes: Iterable[int] | None = None) -> None:
        """These nodes; without them all."""
        voters = ",".join(f"{n}@{self.cluster.nodes[n].endpoint}:{_directory_id(n)}" for n in self.first_voters)
        first = [] if self.static else ["--initial-controllers", voters]
        spare = [] if self.static else ["--no-initial-controllers"]
        modes = {n: first if n in self.first_voters else spare for n in self.kinds}
        modes |= {node.node_id: [] for node in self.cluster.broker_nodes}
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda node_id: self._format(node_id, modes[node_id]), modes if nodes is None else nodes))

    def _format(self, node_id: int, mode: list[str]) -> None:
        node, mode = self.node(node_id), [*mode, *self.options]
        if self.kinds.get(node_id) != JAVA:
            node.format(*mode)
            return
        node.write_properties()
        said = run_tool(
            "kafka-storage", "format", "-c", str(node.properties_file), "-t", CLUSTER_ID, *mode, timeout_s=SECONDS
        )
        assert said.rc == 0, said.err

    def start(self, nodes: Iterable[int] | None = None) -> None:
        self.format()
        for node_id in self.first_voters if nodes is None else nodes:
            self.boot(node_id)

    def boot(self, node_id: int, kind: str | None = None) -> None:
        """Start a node on the directory that it has; with `kind`, by that implementation from now on."""
        assert not self.is_running(node_id), f"node {node_id} runs already"
        if kind is not None:
            self.kinds[node_id] = kind
        node = self.node(node_id)
        if self.kinds.get(node_id) == JAVA:
            node.write_properties()
            self._java[node_id] = JavaNode(node.properties_file, self.java_log(node_id))
        else:
            node.start()

    def is_running(self, node_id: int) -> bool:
        java = self._java.get(node_id)
        return self.node(node_id).is_running or (java is not None and java.process.poll() is None)

    def kill(self, node_id: int) -> None:
        """SIGKILL."""
        if java := self._java.pop(node_id, None):
            java.kill()
        self.node(node_id).kill()

    def stop(self, node_id: int) -> None:
        """SIGTERM, and a clean end."""
        if java := self._java.pop(node_id, None):
            java.stop(SECONDS)
        else:
            assert self.node(node_id).stop(SECONDS) == 0, self.tail(node_id)

    def lose_disk(self, node_id: int) -> None:
        """The node dies and its directory is gone."""
        self.kill(node_id)
        shutil.rmtree(self.data(node_id))

    def format_anew(self, node_id: int) -> None:
        """A new directory, with a new id, of a controller that waits to be added."""
        self._format(node_id, ["--no-initial-controllers"])

    # where things are

    def node(self, node_id: int) -> NodeProcess:
        return self.cluster.nodes[node_id]

    def data(self, node_id: int) -> Path:
        return Path(self.node(node_id).properties["log.dirs"])

    def metadata(self, node_id: int) -> Path:
        return self.data(node_id) / "__cluster_metadata-0"

    def java_log(self, node_id: int) -> Path:
        return self.node(node_id).directory / "java.log"

    def directory_id(self, node_id: int) -> str:
        path = self.data(node_id) / "meta.properties"
        return str(decode_meta_properties(path.read_bytes(), str(path)).directory_id)

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap_controllers

    # the tools

    def add(self, node_id: int, tool: str = OURS, via: str = "controller") -> ToolResult:
        """`kafka-metadata-quorum add-controller`, by our tool or Java's. Java opens its port up to a second after it
        has caught up.
        """
        eventually(f"node {node_id} listens", lambda: is_listening(self.node(node_id).port), SECONDS)
        properties = str(self.node(node_id).properties_file)
        return self._tool(tool, ["--command-config", properties, *self.where(via), "add-controller"])

    def remove(
        self, node_id: int, directory_id: str | None = None, tool: str = OURS, via: str = "controller"
    ) -> ToolResult:
        directory_id = directory_id or self.directory_id(node_id)
        name = ["--controller-id", str(node_id), "--controller-directory-id", directory_id]
        return self._tool(tool, [*self.where(via), "remove-controller", *name])

    def where(self, via: str) -> list[str]:
        """The bootstrap option: `controller`, or `server` for brokers, which forward."""
        addresses = self.bootstrap if via == "controller" else self.cluster.bootstrap_servers
        return [f"--bootstrap-{via}", addresses]

    def run(self, name: str, arguments: Sequence[str], tool: str = OURS) -> ToolResult:
        """Any of Kafka's tools, ours or Java's, with these arguments and no others."""
        return self._tool(tool, arguments, name)

    @staticmethod
    def _tool(tool: str, arguments: Sequence[str], name: str = "kafka-metadata-quorum") -> ToolResult:
        if tool == JAVA:
            return run_tool(name, *arguments, timeout_s=SECONDS)
        done = kraft(name.removeprefix("kafka-"), *arguments, timeout=SECONDS)
        return ToolResult(done.returncode, done.stdout, done.stderr)

    def features(self, *arguments: str, tool: str = OURS, via: str = "controller") -> ToolResult:
        return self._tool(tool, [*self.where(via), *arguments], "kafka-features")

    # what the quorum says

    def quorum(self) -> QuorumDescription:
        return self.cluster.quorum(5.0)

    def voters(self) -> set[int]:
        return {int(one.replica_id) for one in self.quorum().voters}

    def leader(self, other_than: int = -1) -> int:
        return self.cluster.wait_for_leader(other_than=other_than, seconds=SECONDS).node_id

    def wait_for_voters(self, wanted: set[int]) -> None:
        eventually(f"the voters are {wanted}", lambda: self.voters() == wanted, SECONDS)

    def wait_until_following(self, nodes: Iterable[int] | None = None, at_least: int = -1) -> int:
        """These replicas (default: all voters) hold everything below an offset that is committed; that offset."""
        wanted = None if nodes is None else set(nodes)

        def there() -> int | None:
            seen = self.quorum()
            asked = {int(one.replica_id) for one in seen.voters} if wanted is None else wanted
            replicas = sorted((*seen.voters, *seen.observers), key=lambda one: one.log_end_offset)
            ends = {
                int(one.replica_id): int(one.log_end_offset) for one in replicas
            }  # a lost directory is listed for a while
            goal.append(int(seen.high_watermark))
            first = max(goal[0], at_least)
            held = asked <= set(ends) and all(ends[one] >= first for one in asked)
            return first if held and seen.high_watermark >= first else None

        goal: list[int] = []
        return eventually(f"{'all voters' if wanted is None else wanted} follow", there, SECONDS)

    def make_lead(self, wanted: int) -> None:
        """Kill and start voters so that only `wanted` can win: the others that are left lack what is committed."""
        for _ in range(4):
            leader = self.leader()
            if leader == wanted:
                return
            voters = sorted(self.voters())
            assert len(voters) % 2, "the rest of an even number is no majority"
            others = [one for one in voters if one not in (leader, wanted)]
            behind = others[: (len(voters) - 1) // 2]
            for one in behind:
                self.kill(one)
            mark = int(self.quorum().high_watermark) + 2
            self.wait_until_following([wanted, leader], at_least=mark)
            ahead = [one for one in voters if one not in (wanted, *behind)]
            for one in ahead:
                self.kill(one)
            for one in behind:
                self.boot(one)
            self.leader(other_than=leader)
            for one in ahead:
                self.boot(one)
            self.wait_until_following()
        raise AssertionError(f"node {wanted} never led")

    def lead_by(self, kind: str) -> int:
        """Let a voter of this kind lead, the one that does already if it can be; its node id."""
        leader = self.leader()
        if self.kinds[leader] != kind:
            leader = min(voter for voter in self.voters() if self.kinds[voter] == kind)
            self.make_lead(leader)
        return leader

    # the end

    def tail(self, node_id: int, size: int = 2500) -> str:
        java = self.java_log(node_id)
        lines = java.read_text(errors="replace").splitlines(keepends=True) if java.exists() else []
        text = "".join(line for line in lines if not line.startswith("\t"))[-size:]  # not every configuration it had
        return f"--- node {node_id}\n{self.node(node_id).log()[-size:]}\n--- node {node_id} (Java)\n{text}"

    def java_faults(self) -> list[str]:
        """What Java's nodes logged as fatal or as impossible; nothing we do may provoke it."""
        logs = [self.java_log(node_id) for node_id in self.kinds]
        return [line for log in logs if log.exists() for line in _FATAL.findall(log.read_text(errors="replace"))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node_id in self.cluster.nodes:
            self.kill(node_id)
        if error is not None:
            for node_id in self.cluster.nodes:
                print(self.tail(node_id))
