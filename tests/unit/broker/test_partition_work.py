"""The data plane's work on a disk that misbehaves: a client's question always has an answer."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import (
    AppendRecords,
    FindTimestamp,
    OpenPartition,
    PartitionOpened,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    TimestampFound,
    WorkId,
)
from controller_runtime.identifiers import DirectoryId, PartitionId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.storage.errors import InvalidOffset
from support.disks.memory_disk import MemoryDisk, MemoryFile
from support.disks.work_in_order import Logs, WorkInOrder
from unit.storage.test_partition_log import produced

pytestmark = pytest.mark.unit

KEY = PartitionId(Uuid.of(1, 1), 0)
READ = ReadRecords(WorkId(1), (ReadSlice(KEY, 0, 1000, 2),), 1000)
FIND = FindTimestamp(WorkId(2), KEY, 0)


def batch(offset: int) -> bytes:
    return encode_batch([Record(offset, 1000 + offset, None, b"v")], partition_leader_epoch=0)


@pytest.fixture
def work() -> WorkInOrder:
    disk = MemoryDisk()
    disk.make_directories("/data")
    made = WorkInOrder(Logs.open(disk, {DirectoryId(Uuid.of(1, 200)): "/data"}))
    made.open(OpenPartition(KEY, "orders", None))
    made.append(AppendRecords(KEY, 1, batch(0)))
    made.append(AppendRecords(KEY, 2, batch(1)))
    return made


def test_only_what_is_below_the_high_watermark_is_read(work: WorkInOrder) -> None:
    for before, data in ((2, batch(0) + batch(1)), (1, batch(0)), (0, b"")):
        asked = ReadRecords(WorkId(1), (ReadSlice(KEY, 0, 1000, before),), 1000)
        assert work.read(asked) == RecordsRead(WorkId(1), (data,))


def test_an_answer_holds_one_batch_at_least_and_then_no_more_than_asked(work: WorkInOrder) -> None:
    twice = (ReadSlice(KEY, 0, 1000, 2), ReadSlice(KEY, 1, 1000, 2))
    assert work.read(ReadRecords(WorkId(1), twice, 1)) == RecordsRead(WorkId(1), (batch(0), b""))


def test_a_disk_that_cannot_be_read_is_answered(work: WorkInOrder, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: MemoryFile, position: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(MemoryFile, "read_at", broken)
    assert work.read(READ) == RecordsRead(WorkId(1), (ErrorCode.KAFKA_STORAGE_ERROR,))
    assert work.find(FIND) == TimestampFound(WorkId(2), -1, -1)


def test_a_partition_that_is_gone_is_answered(work: WorkInOrder) -> None:
    work.close(KEY, delete=True)
    assert work.read(READ) == RecordsRead(WorkId(1), (ErrorCode.KAFKA_STORAGE_ERROR,))
    assert work.find(FIND) == TimestampFound(WorkId(2), -1, -1)


def test_what_the_broker_is_given_of_producers_is_its_own() -> None:
    """It notes a batch when it decides, the log when it writes: noted twice, four older ones would be forgotten."""
    disk = MemoryDisk()
    disk.make_directories("/data")
    directories = {DirectoryId(Uuid.of(1, 200)): "/data"}
    first = WorkInOrder(Logs.open(disk, directories))
    first.open(OpenPartition(KEY, "orders", None))
    first.append(AppendRecords(KEY, 1, produced(0, producer=5, epoch=1, sequence=0)))
    second = WorkInOrder(Logs.open(disk.survivors("everything"), directories))
    opened = second.open(OpenPartition(KEY, "orders", None))
    assert isinstance(opened, PartitionOpened)
    second.append(AppendRecords(KEY, 2, produced(1, producer=5, epoch=1, sequence=1)))
    assert [batch.first_sequence for batch in opened.producers[5].batches] == [0]


def test_an_append_that_does_not_continue_the_log_is_never_done(work: WorkInOrder) -> None:
    with pytest.raises(InvalidOffset):
        work.append(AppendRecords(KEY, 2, batch(1)))
