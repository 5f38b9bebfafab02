"""The same logs compacted by Apache Kafka's own cleaner and by ours: the same batches are left, and the same records.

Either goes on where the other stopped, and Apache Kafka opens what a crash of ours has left at any step of a swap.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from random import Random
from typing import Final

import pytest

from controller_runtime.protocol.record_batch import RecordBatch
from support.apache_kafka.java_kafka import JVM_FLAGS, require_java
from support.disks.compacted_logs import KeyedLog, batches_in, survivors
from support.disks.memory_disk import Crashed, MemoryDisk
from support.disks.random_keyed_logs import copied_from, copied_to, write_at_random
from support.sampling import run_seed

pytestmark = pytest.mark.interop

SOURCE: Final = Path(__file__).parents[1] / "support" / "apache_kafka" / "CompactedLog.java"
SEGMENT_BYTES: Final = 1_000
RETENTION_MS: Final = 1_000
HISTORIES: Final = 12
ROUNDS: Final = ((40, 0), (20, 500), (20, 1_000), (20, 5_000))
"""Batches, and how much later they are cleaned."""


def ask_java(lines: list[str]) -> list[tuple[int, int]]:
    """The end of each log, and how far it is clean."""
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", require_java(), str(SOURCE), str(SEGMENT_BYTES), str(RETENTION_MS), "1000"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answers = [line.split() for line in done.stdout.splitlines() if line.replace(" ", "").replace("-", "").isdecimal()]
    assert len(answers) == len(lines), done.stdout[-2000:] + done.stderr[-2000:]
    return [(int(end), int(clean)) for end, clean in answers]


def described(batches: list[RecordBatch]) -> list[tuple[object, ...]]:
    """All but the length and checksum of compressed bytes, which depend on the library."""
    return [(batch.header._replace(batch_length=0, crc=0, position=0), batch.records) for batch in batches]


def test_what_javas_cleaner_leaves_is_what_ours_leaves(tmp_path: Path) -> None:
    """CLN-04 to CLN-11, CLN-13: and ours is what Java's goes on with."""
    seed, now = run_seed(), int(time.time() * 1000)
    disks = [MemoryDisk() for _ in range(HISTORIES)]
    logs = [KeyedLog(disk, SEGMENT_BYTES, delete_retention_ms=RETENTION_MS) for disk in disks]
    for log in logs:
        log.time = now - 3_600_000
    asked: list[str] = []
    ours: list[tuple[Path, list[tuple[object, ...]], int, int]] = []
    for number, (log, disk) in enumerate(zip(logs, disks, strict=True)):
        rng, wall = Random(seed + number), now
        for turn, (count, later_ms) in enumerate(ROUNDS):
            wall += later_ms
            write_at_random(log, rng, count)
            if log.limit(wall) <= log.clean_to:
                continue
            directory = copied_to(disk, tmp_path / f"{number}-{turn}" / "keyed-0")
            asked.append(f"clean {directory} {log.clean_to} {wall}")
            clean_to = log.clean(wall)
            assert survivors(log.log) == log.expected(), f"seed {seed}"
            ours.append((directory, described(batches_in(log.log)), log.log.end_offset, clean_to))
    assert len(ours) > 2 * HISTORIES
    for (directory, batches, end, clean_to), answer in zip(ours, ask_java(asked), strict=True):
        assert answer == (end, clean_to), f"seed {seed}, {directory}"
        java = logs[0].reopened(copied_from(directory), clean=True)
        assert described(batches_in(java)) == batches, f"seed {seed}, {directory}"


def test_java_opens_what_a_crash_of_ours_has_left(tmp_path: Path) -> None:
    """CLN-17, LOG-11: the log before the cleaning, or after it."""
    now = int(time.time() * 1000)
    asked: list[str] = []
    expected: list[tuple[Path, list[object], list[object]]] = []
    steps = 0
    while True:
        disk = MemoryDisk()
        log = KeyedLog(disk, SEGMENT_BYTES)
        log.time = now - 3_600_000
        for number in range(12):
            log.write((b"abc"[number % 3 :][:1], b"%d" % number + b"x" * 50))
        log.log.flush()
        limit, before = log.limit(now), survivors(log.log)
        disk.crash_after(steps)
        try:
            log.clean(now)
        except Crashed:
            log.clean_model(now, limit)
            for policy in ("everything", "synced only"):
                directory = copied_to(disk.survivors(policy), tmp_path / f"{steps}-{policy[:4]}" / "keyed-0")
                asked.append(f"open {directory}")
                expected.append((directory, [*before], [*log.expected()]))
            steps += 1
        else:
            break
    assert steps > 15
    kinds = set()
    for (directory, before_it, after_it), (end, _) in zip(expected, ask_java(asked), strict=True):
        assert end == 12
        found = [*survivors(log.reopened(copied_from(directory), clean=True))]
        assert found in (before_it, after_it), directory
        kinds.add(found == after_it)
    assert kinds == {True, False}
