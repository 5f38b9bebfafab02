"""Quorums of three controllers to measure: ours and Apache Kafka's, formatted and started the same way.

Both are processes on loopback with their own directories and durable syncs. Apache Kafka is tuned as its own start-up allows: a small heap,
the serial collector, the first compiler only (the fastest on two cores), a class-data archive, no linger.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchmarks.wire_client import Connection, ask_api_versions
from support import java_kafka

Kind = Literal["quorate", "apache-kafka"]
KINDS: Final[tuple[Kind, ...]] = ("quorate", "apache-kafka")
CLUSTER_ID: Final = "QuorateBenchmark00000Q"
START_TIMEOUT_S: Final = 60.0


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
class Controller:
    node_id: int
    port: int
    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def properties(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log(self) -> Path:
        return self.directory / "log.txt"

    def rss_bytes(self) -> int:
        """Resident memory of the running process, shared pages counted by proportion."""
        assert self.process is not None
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))

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
    """`count` controllers of one kind with static configuration and dynamic voters; nothing runs until `start`."""

    kind: Kind
    directory: Path
    count: int = 3
    controllers: list[Controller] = field(default_factory=list)

    def format(self) -> None:
        ports = free_ports(self.count)
        self.controllers = [
            Controller(i + 1, port, self.directory / f"{self.kind}-{i + 1}") for i, port in enumerate(ports)
        ]
        directory_ids = [f"QuorateBenchmarkDir{n:02d}A"[:21] + "A" for n in range(1, self.count + 1)]
        voters = ",".join(
            f"{c.node_id}@127.0.0.1:{c.port}:{d}" for c, d in zip(self.controllers, directory_ids, strict=True)
        )
        bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
        for controller in self.controllers:
            controller.directory.mkdir(parents=True)
            controller.properties.write_text(
                f"process.roles=controller\nnode.id={controller.node_id}\n"
                f"controller.quorum.bootstrap.servers={bootstrap}\ncontroller.listener.names=CONTROLLER\n"
                f"listeners=CONTROLLER://127.0.0.1:{controller.port}\nlog.dirs={controller.directory / 'data'}\n"
                "controller.quorum.append.linger.ms=0\n"
            )
            arguments = ["format", "-c", str(controller.properties), "-t", CLUSTER_ID, "--initial-controllers", voters]
            done = subprocess.run(
                self._tool("kafka-storage", arguments), capture_output=True, text=True, check=False, env=environment()
            )
            if done.returncode != 0:
                raise BenchmarkError(f"{self.kind}: kafka-storage format: {done.stdout}{done.stderr}")

    def start(self) -> None:
        for controller in self.controllers:
            self.start_one(controller)

    def start_one(self, controller: Controller) -> None:
        with controller.log.open("ab") as output:
            controller.process = subprocess.Popen(
                self._tool("kafka-server-start", [str(controller.properties)]),
                stdout=output, stderr=output, env=environment())  # fmt: skip

    def stop(self) -> None:
        for controller in self.controllers:
            controller.kill()

    def wait_until_answering(self, controller: Controller) -> None:
        """Until the port answers ApiVersions."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if controller.process is not None and controller.process.poll() is not None:
                break
            try:
                with Connection(controller.port, timeout_s=2.0) as connection:
                    ask_api_versions(connection)
                    return
            except OSError:
                time.sleep(0.002)
        raise BenchmarkError(f"{self.kind}: controller {controller.node_id}: {controller.log.read_text()[-2000:]}")

    def _tool(self, name: str, arguments: list[str]) -> list[str]:
        if self.kind == "quorate":
            module = {"kafka-storage": "storage", "kafka-server-start": "server-start"}[name]
            return [sys.executable, "-m", "controller_runtime.cli.main", module, *arguments]
        java_kafka.class_path()
        archive = java_kafka.cache_directory() / "controller.jsa"
        command = java_kafka.command(name, arguments, log_level="ERROR")
        if name == "kafka-server-start" and archive.exists():
            command.insert(1, f"-XX:SharedArchiveFile={archive}")
        return command


def prepare_class_data_archive(directory: Path) -> None:
    """Once per machine: run a controller that leaves the archive which makes the next starts of Apache Kafka three times faster."""
    archive = java_kafka.cache_directory() / "controller.jsa"
    if archive.exists():
        return
    quorum = Quorum("apache-kafka", directory / "archive", count=1)
    quorum.format()
    controller = quorum.controllers[0]
    command = quorum._tool("kafka-server-start", [str(controller.properties)])
    command.insert(1, f"-XX:ArchiveClassesAtExit={archive}")
    with controller.log.open("ab") as output:
        controller.process = subprocess.Popen(command, stdout=output, stderr=output)
    quorum.wait_until_answering(controller)
    time.sleep(3)
    controller.terminate()
