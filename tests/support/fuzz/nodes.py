"""The nodes under test, as real processes: three controllers with a broker, and a node in both roles that is a cluster
of its own.

Their ids are none of a recorded frame. Elections take long here, so that a processor that is kept busy causes none:
what happens to the epoch is then the doing of a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controller_runtime.identifiers import Endpoint
from support.fuzz.shots import Target
from support.fuzz.words import BROKER, COMBINED, CONTROLLERS
from support.nodes.processes import ENVIRONMENT, NodeProcess, _directory_id, eventually, free_ports

PATIENT: Final = {
    "controller.quorum.election.timeout.ms": "4000",
    "controller.quorum.fetch.timeout.ms": "8000",
    "controller.quorum.request.timeout.ms": "8000",
    "broker.session.timeout.ms": "60000",
    "metadata.max.idle.interval.ms": "100",
    "socket.request.max.bytes": str(8 << 20),
    "auto.create.topics.enable": "false",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
}
START_SECONDS: Final = 120.0


class Nodes:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        ports = iter(free_ports(11))
        self.controllers = [self._node(node_id, "controller", ports) for node_id in CONTROLLERS]
        self.broker = self._node(BROKER, "broker", ports)
        self.combined = self._node(COMBINED, "broker,controller", ports)
        self.combined_port = next(ports)
        self.combined.properties["listeners"] = (
            f"PLAINTEXT://127.0.0.1:{self.combined.port},CONTROLLER://127.0.0.1:{self.combined_port}"
        )
        self._bootstrap()

    @staticmethod
    def _listener(role: str) -> str:
        return "CONTROLLER" if role == "controller" else "PLAINTEXT"

    def _node(self, node_id: int, role: str, ports: Iterator[int]) -> NodeProcess:
        port, http = next(ports), next(ports)
        home = self.directory / f"node-{node_id}"
        properties = {
            "process.roles": role,
            "node.id": str(node_id),
            "listeners": f"{self._listener(role)}://127.0.0.1:{port}",
            "log.dirs": str(home / "data"),
            "quorate.http.listener": f"127.0.0.1:{http}",
            **PATIENT,
        }
        return NodeProcess(node_id, home, properties, port, http, environment=ENVIRONMENT)

    def _bootstrap(self) -> None:
        at = ",".join(f"127.0.0.1:{node.port}" for node in self.controllers)
        for node in (*self.controllers, self.broker):
            node.properties["controller.quorum.bootstrap.servers"] = at
        self.combined.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{self.combined_port}"

    @property
    def all(self) -> list[NodeProcess]:
        return [*self.controllers, self.broker, self.combined]

    @property
    def ports(self) -> dict[Target, int]:
        first, second, third = (node.port for node in self.controllers)
        return {
            Target.BROKER: self.broker.port,
            Target.CONTROLLER_1: first,
            Target.CONTROLLER_2: second,
            Target.CONTROLLER_3: third,
            Target.COMBINED_BROKER: self.combined.port,
            Target.COMBINED_CONTROLLER: self.combined_port,
        }

    def node_of(self, target: Target) -> NodeProcess:
        nodes = dict(zip(Target, (self.broker, *self.controllers, self.combined, self.combined), strict=True))
        return nodes[target]

    @property
    def bootstrap(self) -> tuple[Endpoint, ...]:
        return tuple(node.endpoint for node in self.controllers)

    def start(self) -> None:
        voters = ",".join(f"{n.node_id}@127.0.0.1:{n.port}:{_directory_id(n.node_id)}" for n in self.controllers)
        for node in self.controllers:
            node.format("--initial-controllers", voters)
        self.broker.format()
        self.combined.format("--standalone")
        for node in self.all:
            node.start()
        for node in (self.broker, self.combined):
            self.wait_until_ready(node)

    def wait_until_ready(self, node: NodeProcess) -> None:
        def ready() -> bool:
            ended = [one for one in self.all if not one.is_running]
            assert not ended, f"node {ended[0].node_id} ended:\n{ended[0].log()[-3000:]}"
            return node.http("/readyz")[0] == 200

        eventually(f"node {node.node_id} is ready", ready, START_SECONDS)

    def dead(self) -> list[NodeProcess]:
        return [node for node in self.all if not node.is_running]

    def kill(self) -> None:
        for node in self.all:
            node.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
