"""What a mebibyte more costs a lake that has much, and one that has nothing: each job of `kraft-pipeline`, as processor
seconds of all its processes, and the memory of the largest of them.

    python -m benchmarks.pipeline_added DIRECTORY [--megabytes 10 100 1000]

A lake is of clusters of ten megabytes, whose logs keep every promise: leaders of the partitions of one topic change.
After ingest, tables and audit, one of the clusters writes a megabyte, and each job is run again and measured. The
peer is the same megabyte in an empty lake, in the same minute. Each job is a process of its own, with its JVM.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.pipeline_logs import write_directory
from benchmarks.report import Figure, table
from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.messages import leader_change_message
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch

JOBS: Final = ("ingest", "tables", "audit", "report")
PARTITIONS: Final = 200
START_MS: Final = 1_790_000_000_000
CLUSTER_BYTES: Final = 10_000_000
ADDED_BYTES: Final = 1_000_000
_TOPIC: Final = Uuid(b"a topic of logs.")
_ISR: Final = (1, 2, 3)
_CHILD_SUBREAPER: Final = 36
_offset: Final = struct.Struct(">q")


def grow(partition: Path, size: int) -> None:
    """Write batches of changes behind what is there, until the log has so many bytes."""
    path = partition / f"{0:020d}.log"
    if not path.exists():
        path.write_bytes(b"".join(_beginning()))
    body = bytearray(_changes())
    end = _end(path.read_bytes())
    with path.open("ab") as file:
        while file.tell() < size:
            _offset.pack_into(body, 0, end)
            file.write(body)
            end += PARTITIONS
    voters = '"currentVoters":[{"voterId":1}],"data_version":0'
    (partition / "quorum-state").write_text(f'{{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,{voters}}}')


def _beginning() -> list[bytes]:
    voters = (leader_change_message.Voter(voter_id=1),)
    message = leader_change_message.LeaderChangeMessage(leader_id=1, voters=voters, granting_voters=voters)
    led = control_record(message, offset=0, timestamp=START_MS)
    values = [encode_record(TopicRecord(name="orders", topic_id=_TOPIC), 0)]
    for index in range(PARTITIONS):
        made = PartitionRecord(partition_id=index, topic_id=_TOPIC, replicas=_ISR, isr=_ISR, leader=1)
        values.append(encode_record(made, 0))
    records = [Record(1 + number, START_MS, None, value) for number, value in enumerate(values)]
    return [
        encode_batch([led], partition_leader_epoch=1, is_control=True), encode_batch(records, partition_leader_epoch=1)
    ]  # fmt: skip


def _changes() -> bytes:
    records = []
    for index in range(PARTITIONS):
        change = PartitionChangeRecord(partition_id=index, topic_id=_TOPIC, leader=1 + index % 3, isr=_ISR)
        records.append(Record(index, START_MS + index, None, encode_record(change, 0)))
    return encode_batch(records, partition_leader_epoch=1)


def _end(data: bytes) -> int:
    at = end = 0
    while at < len(data):
        base, size = struct.unpack_from(">qi", data, at)
        (delta,) = struct.unpack_from(">i", data, at + 23)
        at, end = at + 12 + size, base + delta + 1
    return int(end)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a job with everything that it starts. `peak_mb`: of its largest process."""

    cpu_seconds: float
    peak_mb: float


def measured(job: str, lake: Path, logs: Path) -> Cost:
    """Waits for the job and for whom it left: a process that reaps the orphans of another."""
    paths = [str(logs)] if job == "ingest" else []
    command = [sys.executable, "-m", "metadata_pipeline.cli", job, *paths, "--output", str(lake)]
    seconds, kilobytes, failed = 0.0, 0, False
    with tempfile.TemporaryFile() as said:
        started = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        while True:
            try:
                pid, status, used = os.wait3(0)
            except ChildProcessError:
                break
            seconds += used.ru_utime + used.ru_stime
            kilobytes = max(kilobytes, used.ru_maxrss)
            failed = failed or (pid == started.pid and status != 0)
        if failed:
            said.seek(0)
            raise RuntimeError(f"{job} failed:\n{said.read()[-2000:].decode(errors='replace')}")
    return Cost(seconds, kilobytes / 1024)


def added(root: Path, megabytes: int) -> list[Figure]:
    """Each job's figure for one size of lake."""
    shutil.rmtree(root, ignore_errors=True)
    logs, lake, alone = root / "logs", root / "lake", root / "alone"
    clusters = [write_directory(logs / str(n), cluster=f"fleet-{n}") for n in range(max(1, megabytes // 10))]
    for partition in clusters:
        grow(partition, min(CLUSTER_BYTES, megabytes * 1_000_000))
    for job in JOBS[:3]:
        _say(f"{megabytes} MB: {job}", measured(job, lake, logs))
    grow(clusters[0], (clusters[0] / f"{0:020d}.log").stat().st_size + ADDED_BYTES)
    grow(write_directory(alone, cluster="alone"), ADDED_BYTES)
    found = []
    for job in JOBS:
        ours, peer = measured(job, lake, logs), measured(job, root / "empty", alone)
        name = f"{job} of 1 MB more in {megabytes} MB"
        found.append(
            Figure("pipeline", name, "CPU s", ours.cpu_seconds, peer.cpu_seconds, peer_name="in an empty lake")
        )
        _say(name, ours)
        print(table(found[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    return found


def _say(what: str, cost: Cost) -> None:
    print(f"{what} {cost.cpu_seconds:.1f} s, {cost.peak_mb:.0f} MB", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline_added", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100, 1000])
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    found = [figure for size in options.megabytes for figure in added(options.directory / str(size), size)]
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
