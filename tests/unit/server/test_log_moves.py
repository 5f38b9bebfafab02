"""A copy of a log follows it, whatever happens to the log meanwhile; and takes its place byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.effects import AppendRecords, CompleteMove, CopyMore, CutLog, DeleteBefore, RestartLog
from controller_runtime.identifiers import DirectoryId, Offset, PartitionId, Uuid
from controller_runtime.protocol.record_batch import Record, batch_headers, encode_batch
from controller_runtime.storage.log.config import LogConfig
from support.disks.memory_disk import MemoryDisk
from support.disks.work_in_order import Logs, WorkInOrder

pytestmark = pytest.mark.unit

A, B = DirectoryId(Uuid.of(1, 1)), DirectoryId(Uuid.of(2, 2))
KEY = PartitionId(Uuid.of(7, 7), 0)


class Room:
    """One log in the first of two directories."""

    def __init__(self, segment_bytes: int = 300) -> None:
        self.disk = MemoryDisk()
        for path in ("/a", "/b"):
            self.disk.make_directories(path)
        self.logs = Logs.open(self.disk, {A: "/a", B: "/b"})
        self.logs.open_log(KEY, "orders", A, LogConfig(segment_bytes=segment_bytes))
        self.work = WorkInOrder(self.logs)

    def append(self, epoch: int, *words: bytes) -> None:
        for word in words:
            base = int(self.logs.log(KEY).end_offset)
            data = encode_batch([Record(0, 1, None, word)], base_offset=base, partition_leader_epoch=epoch)
            self.work.append(AppendRecords(KEY, base + 1, data))

    def copy(self) -> Any:
        return self.work.move(CopyMore(KEY, "orders", B, 100))

    def complete(self) -> tuple[bytes, bytes]:
        """What the log held before, and holds since."""
        before = self.content()
        self.work.move(CompleteMove(KEY, "orders", B, 0))
        assert self.logs.home(KEY).id == B
        assert not [name for name in self.disk.list_directory("/a") if name.startswith("orders")]
        assert not self.disk.exists("/b/orders-0/.quorate-moved")
        return before, self.content()

    def content(self) -> bytes:
        log = self.logs.log(KEY)
        found, offset = b"", log.start_offset
        while data := log.read(offset, 1):
            found += data
            *_, last = batch_headers(data)
            offset = Offset(last.next_offset)
        return found


def test_a_copy_is_the_same_log() -> None:
    """DIR-05: with its epochs, and where it begins."""
    room = Room()
    room.append(1, b"one", b"two")
    room.copy()
    room.append(3, b"three", b"four", b"five")
    room.work.delete_before(DeleteBefore(KEY, 1))
    epochs = room.logs.log(KEY).epoch_starts()
    before, after = room.complete()
    assert before == after
    assert (room.logs.log(KEY).start_offset, room.logs.log(KEY).end_offset) == (1, 5)
    assert room.logs.log(KEY).epoch_starts()[-1] == epochs[-1]


def test_a_copy_is_cut_where_its_log_was() -> None:
    """A follower's log, whose leader had less: what comes in its place is of a later epoch."""
    room = Room()
    room.append(1, b"one", b"two", b"lost", b"lost too")
    while (told := room.copy()).end_offset < told.log_end:
        pass
    room.work.cut(CutLog(KEY, 2))
    room.append(2, b"three", b"four", b"five")
    before, after = room.complete()
    assert before == after
    assert b"lost" not in after


@pytest.mark.parametrize("start", [9, 2])
def test_a_copy_begins_anew_with_its_log(start: int) -> None:
    room = Room()
    room.append(1, b"one", b"two", b"three", b"four")
    while (told := room.copy()).end_offset < told.log_end:
        pass
    room.work.cut(RestartLog(KEY, start))
    room.append(4, b"other")
    before, after = room.complete()
    assert before == after
    assert (room.logs.log(KEY).start_offset, room.logs.log(KEY).end_offset) == (start, start + 1)


def test_a_copy_that_is_behind_what_was_deleted_begins_there() -> None:
    room = Room()
    room.append(1, b"one", b"two", b"three", b"four", b"five")
    room.copy()
    room.work.delete_before(DeleteBefore(KEY, 4))
    before, after = room.complete()
    assert before == after
    assert room.logs.log(KEY).start_offset == 4


def test_an_empty_log_moves_too() -> None:
    room = Room()
    assert room.complete() == (b"", b"")
    room.append(1, b"one")
    assert room.logs.log(KEY).end_offset == 1
