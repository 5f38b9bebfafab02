"""Real nodes of ours as processes: own directories, real sockets on free ports, ended by their own handle.

with Cluster(tmp_path, controllers=3) as cluster:
    cluster.start()
    cluster.wait_for_leader()
    cluster.nodes[1].kill()
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import QuorumDescription
from controller_runtime.cli import storage
from controller_runtime.identifiers import Endpoint, NodeId

CLUSTER_ID: Final = "b7XFcyEkSgSBsv7c2XVvyg"
REPOSITORY: Final = Path(__file__).parents[3]
ENVIRONMENT: Final = {
    **os.environ,
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / "bytecode"),
}
"""Nodes run from compiled modules, as they do in the image, and the tree stays free of them."""
_NEVER_GIVEN_OUT: Final = range(*map(int, os.environ.get("QUORATE_PORTS", "20000 30000").split()))
"""Layers that run at the same time have their own (tools/run_tests.py). Linux gives connections that go out ports above
these (32768 by default), so it takes none on which a node is going to listen later, or anew.
"""
_PORTS: Final = islice(cycle(_NEVER_GIVEN_OUT), os.getpid() * 97 % len(_NEVER_GIVEN_OUT), None)
"""Two runs at the same time begin elsewhere."""
_ONE_TOOL: Final = threading.Lock()
"""What a tool prints belongs to the process, whichever thread runs it."""
T = TypeVar("T")


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Ports that were free a moment ago, all different, and none twice: nobody still calls at one for whom listened
    there before.
    """
    sockets: list[socket.socket] = []
    try:
        for port in islice(_PORTS, len(_NEVER_GIVEN_OUT)):
            if len(sockets) == count:
                break
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind((host, port))
            except OSError:
                one.close()
            else:
                sockets.append(one)
        assert len(sockets) == count, f"{count} free ports are not to be had on {host}"
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def eventually(what: str, probe: Callable[[], T | None], seconds: float = 90.0) -> T:
    """Wait until `probe` gives something true, or fail saying what never came."""
    deadline = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            if found := probe():
                return found
        except (AdminError, ApiError, OSError) as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:g} s (last: {last!r})")


def kraft(
    *arguments: str, timeout: float = 60.0, environment: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one of our tools to its end."""
    return subprocess.run(
        [sys.executable, "-m", "controller_runtime.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=REPOSITORY,
        env={**ENVIRONMENT, **(environment or {})},
    )


@dataclass(slots=True)
class NodeProcess:
    """One node: its properties file, its log, and the process while it runs."""

    node_id: int
    directory: Path
    properties: dict[str, str]
    port: int
    http_port: int
    process: subprocess.Popen[bytes] | None = None
    wrapper: Sequence[str] = ()
    """Words before the command line, such as `prlimit`."""
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_file(self) -> Path:
        return self.directory / "node.log"

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port)

    def write_properties(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_file.write_text("".join(f"{name}={value}\n" for name, value in self.properties.items()))

    def format(self, *options: str, cluster_id: str = CLUSTER_ID) -> None:
        """By the tool's code, in this process: a third of a second less for every node of every test."""
        self.write_properties()
        said = io.StringIO()
        with _ONE_TOOL, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = storage.main(["format", "-c", str(self.properties_file), "-t", cluster_id, *options])
        assert code == 0, said.getvalue()

    def start(self) -> None:
        assert self.process is None or self.process.poll() is not None, "it runs already"
        self.write_properties()
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.wrapper,
                    sys.executable,
                    "-m",
                    "controller_runtime.cli.main",
                    "server-start",
                    str(self.properties_file),
                ],
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env=self.environment,
            )

    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def wait_for_log(self, text: str, seconds: float = 90.0) -> None:
        def there() -> bool:
            assert self.is_running or text in self.log(), f"node {self.node_id} ended:\n{self.log()[-3000:]}"
            return text in self.log()

        eventually(f"node {self.node_id} logs {text!r}", there, seconds)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(20)

    def stop(self, seconds: float = 40.0) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float = 40.0) -> int:
        assert self.process is not None
        return self.process.wait(seconds)

    def http(self, path: str) -> tuple[int, str]:
        """Status and text; (0, reason) when nobody answers."""
        try:
            with urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()
        except URLError as error:
            return 0, str(error.reason)


@dataclass(slots=True)
class Cluster:
    """Controllers 1.. and brokers 11.., formatted and ready to start."""

    directory: Path
    controllers: int = 1
    brokers: int = 0
    static_voters: bool = False
    extra: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, NodeProcess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = self.controllers + self.brokers
        ports = free_ports(2 * count)
        ids = [*range(1, self.controllers + 1), *range(11, 11 + self.brokers)]
        controller_ports = ports[: self.controllers]
        for position, node_id in enumerate(ids):
            is_controller = position < self.controllers
            properties = self._properties(node_id, ports[position], is_controller, controller_ports)
            properties["quorate.http.listener"] = f"127.0.0.1:{ports[count + position]}"
            home = self.directory / f"node-{node_id}"
            properties["log.dirs"] = str(home / "data")
            properties |= self.extra
            self.nodes[node_id] = NodeProcess(node_id, home, properties, ports[position], ports[count + position])

    def _properties(self, node_id: int, port: int, is_controller: bool, controller_ports: list[int]) -> dict[str, str]:
        addresses = [f"127.0.0.1:{one}" for one in controller_ports]
        properties = {
            "process.roles": "controller" if is_controller else "broker",
            "node.id": str(node_id),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://127.0.0.1:{port}",
            "metadata.max.idle.interval.ms": "100",  # who waits for the next commit waits a fifth as long
        }
        if self.static_voters:
            properties["controller.quorum.voters"] = ",".join(f"{n}@{a}" for n, a in enumerate(addresses, 1))
        else:
            properties["controller.quorum.bootstrap.servers"] = ",".join(addresses)
        return properties

    @property
    def controller_nodes(self) -> list[NodeProcess]:
        return [node for node in self.nodes.values() if node.properties["process.roles"] != "broker"]

    @property
    def broker_nodes(self) -> list[NodeProcess]:
        return [node for node in self.nodes.values() if node.properties["process.roles"] != "controller"]

    @property
    def bootstrap_controllers(self) -> str:
        return ",".join(str(node.endpoint) for node in self.controller_nodes)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(str(node.endpoint) for node in self.broker_nodes)

    def format(self, *options: str) -> None:
        voters = [f"{n.node_id}@127.0.0.1:{n.port}:{_directory_id(n.node_id)}" for n in self.controller_nodes]
        for node in self.nodes.values():
            is_controller = node in self.controller_nodes
            node.format(
                *options,
                *(["--initial-controllers", ",".join(voters)] if is_controller and not self.static_voters else []),
            )

    def start(self) -> None:
        self.format()
        for node in self.nodes.values():
            node.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            node.kill()
        if error is not None:
            for node in self.nodes.values():
                print(f"--- node {node.node_id}\n{node.log()[-3000:]}")

    def admin(self, seconds: float = 10.0) -> AdminClient:
        return AdminClient(bootstrap_controllers=self.bootstrap_controllers, timeout_seconds=seconds)

    def quorum(self, seconds: float = 10.0) -> QuorumDescription:
        async def ask() -> QuorumDescription:
            async with self.admin(seconds) as admin:
                return await admin.describe_quorum()

        return asyncio.run(ask())

    def wait_for_leader(self, *, other_than: int = -1, seconds: float = 90.0) -> NodeProcess:
        def led() -> NodeProcess | None:
            found = self.quorum(2.0)
            is_new = found.leader_id != other_than and found.high_watermark > 0
            return self.nodes[found.leader_id] if is_new else None

        return eventually("a leader", led, seconds)

    def wait_until_unfenced(self, seconds: float = 60.0) -> None:
        """All brokers are registered and unfenced."""
        for broker in self.broker_nodes:
            eventually(f"broker {broker.node_id} is ready", lambda one=broker: one.http("/readyz")[0] == 200, seconds)  # type: ignore[misc]

    def log_end_offsets(self) -> dict[NodeId, int]:
        return {one.replica_id: one.log_end_offset for one in self.quorum().voters}


def _directory_id(node_id: int) -> str:
    from controller_runtime.identifiers import Uuid

    return str(Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0000 + node_id))
