"""Records appended inside the leader's process: three voters of Kafka's TestRaftServer, and three of ours with nothing
on top (`raft_server`).

Counted in the log itself, by its batch headers, over the same time: what both have written, synced and replicated.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.clusters import BenchmarkError, Kind, Quorum, environment, free_ports
from support.apache_kafka import java_kafka

RECORD_BYTES: Final = 256
WARM_UP_S: Final = 12.0
TEST_RAFT_SERVER: Final = "kafka.tools.TestRaftServer"
_OVERHEAD: Final = 12
"""Bytes of base offset and length before a batch's own."""


def measure(kind: Kind, directory: Path, seconds: float) -> float:
    """Records per second that reached the log of the one that has most."""
    processes, data = _start_ours(directory) if kind == "quorate" else _start_kafka(directory)
    try:
        deadline = time.monotonic() + 60
        while max(_records(one) for one in data) < 1000:
            if time.monotonic() > deadline or any(p.poll() is not None for p in processes):
                logs = "".join(log.read_text()[-1000:] for log in directory.rglob("log.txt"))
                raise BenchmarkError(f"{kind}: nothing is appended: {logs}")
            time.sleep(0.1)
        time.sleep(WARM_UP_S)
        before, started = [_records(one) for one in data], time.perf_counter()
        time.sleep(seconds)
        after, took = [_records(one) for one in data], time.perf_counter() - started
        appended = max(late - early for early, late in zip(before, after, strict=True))
        if appended <= 0:
            raise BenchmarkError(f"{kind}: nothing was appended for {took:.0f} s: the leader was lost")
        return appended / took
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _records(directory: Path) -> int:
    """In all segments below this directory; a batch that is being written is not counted."""
    return sum(_records_of(segment) for segment in directory.rglob("*.log"))


def _records_of(segment: Path) -> int:
    count, position, size = 0, 0, segment.stat().st_size
    file = os.open(segment, os.O_RDONLY)
    try:
        while position + 61 <= size:
            head = os.pread(file, 61, position)
            (length,) = struct.unpack_from(">i", head, 8)
            (records,) = struct.unpack_from(">i", head, 57)
            if length <= 0 or position + _OVERHEAD + length > size:
                break
            count += records
            position += _OVERHEAD + length
    finally:
        os.close(file)
    return count


def _start(commands: list[list[str]], directories: list[Path]) -> tuple[list[subprocess.Popen[bytes]], list[Path]]:
    processes = []
    for command, directory in zip(commands, directories, strict=True):
        with (directory / "log.txt").open("ab") as output:
            processes.append(subprocess.Popen(command, stdout=output, stderr=output, env=environment()))
    return processes, [directory / "data" for directory in directories]


def _start_ours(directory: Path) -> tuple[list[subprocess.Popen[bytes]], list[Path]]:
    quorum = Quorum("quorate", directory)
    quorum.format()
    commands = [
        [sys.executable, "-m", "benchmarks.raft_server", str(member.properties), str(RECORD_BYTES)]
        for member in quorum.members
    ]
    return _start(commands, [member.directory for member in quorum.members])


def _start_kafka(directory: Path) -> tuple[list[subprocess.Popen[bytes]], list[Path]]:
    ports = free_ports(3)
    voters = ",".join(f"{i + 1}@127.0.0.1:{port}" for i, port in enumerate(ports))
    commands, directories = [], []
    for i, port in enumerate(ports):
        home = directory / f"raft-{i + 1}"
        (home / "data").mkdir(parents=True)
        (home / "server.properties").write_text(
            "process.roles=controller\n"
            f"node.id={i + 1}\n"
            f"controller.quorum.voters={voters}\n"
            "controller.listener.names=CONTROLLER\n"
            f"listeners=CONTROLLER://127.0.0.1:{port}\n"
            f"log.dirs={home / 'data'}\n"
            "controller.quorum.append.linger.ms=0\n"
        )
        command = java_kafka.command("kafka-server-start", [], log_level="ERROR")
        command[-1] = TEST_RAFT_SERVER
        directory_id = f"QuorateBenchmarkDir{i + 1:02d}A"[:21] + "A"
        commands.append([*command, "--config", str(home / "server.properties"), "--replica-directory-id", directory_id,
                         "--throughput", "1000000", "--record-size", str(RECORD_BYTES)])  # fmt: skip
        directories.append(home)
    return _start(commands, directories)
