"""Quorums of three to measure: ours, Apache Kafka's and etcd's, prepared and started the same way.

All are processes with their own directories and durable syncs. Apache Kafka is tuned as its own start-up allows: a
small heap, the serial collector, the first compiler only (the fastest on two cores), a class-data archive, no linger.
etcd runs with its defaults.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchmarks import etcd_gateway, programs
from benchmarks.network import Network
from benchmarks.wire_client import Connection, ask_api_versions
from support.apache_kafka import java_kafka

Kind = Literal["quorate", "apache-kafka", "etcd"]
KINDS: Final[tuple[Kind, ...]] = ("quorate", "apache-kafka", "etcd")
CLUSTER_ID: Final = "QuorateBenchmark00000Q"
START_TIMEOUT_S: Final = 60.0
LINES_OF_A_LOG: Final = 2000


class BenchmarkError(Exception):
    """A peer did not do what the measurement needs; the message holds the end of its log."""


def environment() -> dict[str, str]:
    """Ours, but modules are kept compiled, as they are in the image."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in held]
    for sock in held:
        sock.close()
    return ports


@dataclass(slots=True)
class Member:
    """One node of a quorum: where it is, and its process while it runs."""

    node_id: int
    port: int
    peer_port: int
    """etcd's second port; Kafka's nodes speak to each other on the first."""
    directory: Path
    host: str = "127.0.0.1"
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def properties(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log(self) -> Path:
        return self.directory / "log.txt"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def rss_bytes(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def terminate(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


@dataclass(slots=True)
class Quorum:
    """`count` members of one kind; nothing runs until `start`. In a `network` each has a namespace of its own."""

    kind: Kind
    directory: Path
    count: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further properties of Kafka's nodes and ours, or further flags of etcd, by kind's own names."""
    network: Network | None = None
    count_syncs: bool = False
    profiled: bool = False
    """Ours only: each process leaves `profile` in its directory when it is terminated."""
    members: list[Member] = field(default_factory=list)

    def format(self) -> None:
        ports = free_ports(2 * self.count)
        for i in range(self.count):
            host = self.network.address(i + 1) if self.network else "127.0.0.1"
            member = Member(i + 1, ports[i], ports[self.count + i], self.directory / f"{self.kind}-{i + 1}", host)
            member.directory.mkdir(parents=True)
            self.members.append(member)
        if self.kind != "etcd":
            self._format_kafka()

    def _format_kafka(self) -> None:
        directory_ids = [f"QuorateBenchmarkDir{n:02d}A"[:21] + "A" for n in range(1, self.count + 1)]
        voters = ",".join(f"{m.node_id}@{m.address}:{d}" for m, d in zip(self.members, directory_ids, strict=True))
        bootstrap = ",".join(member.address for member in self.members)
        for member in self.members:
            lines = {
                "process.roles": "controller",
                "node.id": str(member.node_id),
                "controller.quorum.bootstrap.servers": bootstrap,
                "controller.listener.names": "CONTROLLER",
                "listeners": f"CONTROLLER://{member.address}",
                "log.dirs": str(member.directory / "data"),
                **self.settings,
            }
            if self.kind == "apache-kafka":
                lines["controller.quorum.append.linger.ms"] = "0"  # its best; ours is best with its own default
            member.properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
            arguments = ["format", "-c", str(member.properties), "-t", CLUSTER_ID, "--initial-controllers", voters]
            done = subprocess.run(
                self._tool("kafka-storage", arguments), capture_output=True, text=True, check=False, env=environment()
            )
            if done.returncode != 0:
                raise BenchmarkError(f"{self.kind}: kafka-storage format: {done.stdout}{done.stderr}")

    def start(self) -> None:
        for member in self.members:
            self.start_one(member)

    def start_one(self, member: Member) -> None:
        enter = self.network.enter(member.node_id) if self.network else []
        with member.log.open("ab") as output:
            member.process = subprocess.Popen(
                [*enter, *self._server(member)], stdout=output, stderr=output, env=self._environment(member)
            )

    def _environment(self, member: Member) -> dict[str, str]:
        found = environment()
        if self.count_syncs and self.kind != "etcd":
            found |= {
                "LD_PRELOAD": str(programs.sync_counter()),
                "QUORATE_SYNC_COUNT": str(member.directory / "syncs"),
            }
        return found

    def syncs(self, member: Member) -> int:
        """Calls of fsync and fdatasync so far (`count_syncs`); etcd counts its own."""
        if self.kind == "etcd":
            return etcd_gateway.syncs(member.address)
        return int.from_bytes((member.directory / "syncs").read_bytes(), sys.byteorder)

    def stop(self) -> None:
        for member in self.members:
            member.kill()

    @property
    def running(self) -> list[Member]:
        return [member for member in self.members if member.is_running]

    def at(self, port: int) -> Member:
        return next(member for member in self.members if member.port == port)

    def wait_until_answering(self, member: Member) -> None:
        """Until the port answers: ApiVersions, or for etcd its version."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and member.is_running:
            try:
                if self.kind == "etcd":
                    etcd_gateway.version(member.address)
                else:
                    with Connection(member.port, host=member.host, timeout_s=2.0) as connection:
                        ask_api_versions(connection)
                return
            except OSError:
                time.sleep(0.002)
        raise BenchmarkError(f"{self.kind}: member {member.node_id}: {member.log.read_text()[-LINES_OF_A_LOG:]}")

    def _server(self, member: Member) -> list[str]:
        if self.kind == "etcd":
            return [str(programs.go_program("etcd")), *self._etcd_flags(member)]
        if self.profiled:
            where = str(member.directory / "profile")
            command = self._tool("kafka-server-start", [str(member.properties)])
            return [command[0], "-m", "cProfile", "-o", where, *command[1:]]
        return self._tool("kafka-server-start", [str(member.properties)])

    def _etcd_flags(self, member: Member) -> list[str]:
        peers = ",".join(f"m{m.node_id}=http://{m.host}:{m.peer_port}" for m in self.members)
        client, peer = f"http://{member.address}", f"http://{member.host}:{member.peer_port}"
        flags = {
            "name": f"m{member.node_id}",
            "data-dir": str(member.directory / "data"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": peers,
            "initial-cluster-state": "new",
            "log-level": "error",
            **self.settings,
        }
        return [f"--{name}={value}" for name, value in flags.items()]

    def _tool(self, name: str, arguments: list[str]) -> list[str]:
        if self.kind == "quorate":
            module = {"kafka-storage": "storage", "kafka-server-start": "server-start"}[name]
            return [sys.executable, "-m", "controller_runtime.cli.main", module, *arguments]
        java_kafka.class_path()
        archive = java_kafka.archive()
        command = java_kafka.command(name, arguments, log_level="ERROR")
        if name == "kafka-server-start" and archive.exists():
            command.insert(1, f"-XX:SharedArchiveFile={archive}")
        return command


def prepare_class_data_archive(directory: Path) -> None:
    """Once per machine: run a controller that leaves the archive which makes the next starts of Apache Kafka three
    times faster.
    """
    archive = java_kafka.archive()
    if archive.exists():
        return
    quorum = Quorum("apache-kafka", directory / "archive", count=1)
    quorum.format()
    member = quorum.members[0]
    command = quorum._tool("kafka-server-start", [str(member.properties)])
    command.insert(1, f"-XX:ArchiveClassesAtExit={archive}")
    with member.log.open("ab") as output:
        member.process = subprocess.Popen(command, stdout=output, stderr=output)
    quorum.wait_until_answering(member)
    time.sleep(3)
    member.terminate()
