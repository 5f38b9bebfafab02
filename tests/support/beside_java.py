"""One broker of Apache Kafka and one of ours, each a cluster of its own, and the same bytes for both.

    with beside_java(tmp_path) as pair:
        with Client(pair.java) as java, Client(pair.ours) as ours:
            assert java.ask(body, 9) == ours.ask(body, 9)

Both are controller and broker in one process, so a test pays for one start of Java. An answer is a message, or `CLOSED`: the connection ended.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass
from support.java_kafka import JavaNode, require_java, run_tool
from support.processes import CLUSTER_ID, Cluster, NodeProcess, free_ports

CLOSED: Final = "closed"
SECONDS: Final = 240.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The ports of both, and our node."""

    java: int
    ours: int
    node: NodeProcess

    @property
    def ports(self) -> tuple[int, int]:
        return self.java, self.ours


@contextlib.contextmanager
def beside_java(directory: Path, extra: Mapping[str, str] | None = None) -> Iterator[Pair]:
    require_java()
    port, controller_port = free_ports(2)
    settings = dict(extra or {})
    with Cluster(directory / "ours", controllers=1, brokers=0, extra=settings) as cluster:
        node = cluster.nodes[1]
        inner, outer = node.port, free_ports(1)[0]
        node.properties |= _roles(inner, outer, node.properties["log.dirs"])
        java = _start_java(directory / "java", controller_port, port, settings)
        try:
            cluster.format()
            node.start()
            cluster.wait_for_leader()
            node.wait_for_log("broker is RUNNING")
            java.wait_for_log("Kafka Server started", SECONDS)
            yield Pair(port, outer, node)
        finally:
            java.kill()


def _roles(controller_port: int, port: int, data: str) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listeners": f"CONTROLLER://127.0.0.1:{controller_port},PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "offsets.topic.replication.factor": "1",
        "log.dirs": data,
    }


def _start_java(directory: Path, controller_port: int, port: int, extra: Mapping[str, str]) -> JavaNode:
    directory.mkdir(parents=True)
    properties = directory / "server.properties"
    lines = {**_roles(controller_port, port, str(directory / "data")), **extra}
    lines |= {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    said = run_tool(
        "kafka-storage", "format", "-c", str(properties), "-t", CLUSTER_ID, "--standalone", timeout_s=SECONDS
    )
    assert said.rc == 0, said.err
    return JavaNode(properties, directory / "java.txt")


class Client:
    """One connection that is made anew when the broker has closed it."""

    def __init__(self, port: int, seconds: float = 60.0) -> None:
        self._port = port
        self._seconds = seconds
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, body: Message, version: int) -> Message | str:
        key = body.KEY
        assert key is not None, f"{type(body).__name__} is no request"
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=self._seconds)
        try:
            self._socket.sendall(encode_request(body, version, 7, "a stranger"))
            (size,) = struct.unpack(">i", self._exactly(4))
            return decode_response(self._exactly(size), key, version).body
        except (ConnectionError, EOFError):
            self.close()
            return CLOSED

    def _exactly(self, size: int) -> bytes:
        assert self._socket is not None, "a request was sent"
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
