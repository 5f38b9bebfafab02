"""What a step reads of the log, its own batches included."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.node.quorum.log_reading import StepLog
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from support.disks.memory_disk import MemoryDisk
from support.disks.raw_batches import raw_batch

pytestmark = pytest.mark.unit

ROOM = 1 << 20


def step_log(segment_bytes: int, *counts: int) -> tuple[StepLog, list[bytes]]:
    """A log with one batch of an earlier step, and batches of so many records, ten bytes each, of the running one."""
    log = MetadataLog.open(MemoryDisk(), "/log", LogConfig(segment_bytes=segment_bytes))
    log.append(raw_batch(0))
    reading, at, batches = StepLog(log), 1, []
    for count in counts:
        batches.append(raw_batch(at, 1, count, payload=b"x" * 10 * count))
        reading.append(Offset(at), Offset(at + count), batches[-1])
        at += count
    return reading, batches


def test_batches_of_earlier_steps_and_of_this_one_are_read_from_where_they_begin() -> None:
    reading, batches = step_log(1 << 20, 1, 2)
    assert reading.read(Offset(0), ROOM) == raw_batch(0)
    assert reading.read(Offset(1), ROOM) == batches[0] + batches[1]
    assert reading.read(Offset(3), ROOM) == batches[1], "the batch that holds the offset"
    assert reading.read(Offset(4), ROOM) == b""


def test_no_batch_is_left_out_because_one_before_it_is_too_large() -> None:
    reading, batches = step_log(1 << 20, 1, 40, 1)
    assert len(batches[0]) + len(batches[2]) <= 200 < len(batches[0]) + len(batches[1])
    assert reading.read(Offset(1), 200) == batches[0], "what follows a hole could not be appended"


def test_one_read_gives_no_more_than_a_segment_holds_but_at_least_a_batch() -> None:
    reading, batches = step_log(200, 1, 1, 1, 40)
    assert reading.read(Offset(1), ROOM) == batches[0] + batches[1]
    assert reading.read(Offset(3), ROOM) == batches[2]
    assert len(batches[3]) > 200
    assert reading.read(Offset(4), ROOM) == batches[3]
