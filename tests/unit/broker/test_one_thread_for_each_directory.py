"""A log directory has a thread of its own: a disk that hangs holds back what lies on it, and nothing else; one that
fails takes its partitions offline, and nothing else.
"""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import AsyncIterator

import pytest

from controller_runtime.broker.effects import (
    AppendRecords,
    BrokerEvent,
    ClosePartition,
    DirectoryFailed,
    OpenPartition,
    PartitionEffect,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    SetAsideStrays,
    StraysSetAside,
    WorkId,
)
from controller_runtime.identifiers import BrokerEpoch, DirectoryId, PartitionId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.server.shell.data_plane import BrokerDataPlane
from controller_runtime.server.shell.directory_reads import READS_AT_ONCE
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.log_directory import LogDirectory
from support.disks.memory_disk import MemoryDisk, MemoryFile
from support.disks.raw_batches import raw_batch

pytestmark = pytest.mark.unit

A, B = DirectoryId(Uuid.of(1, 101)), DirectoryId(Uuid.of(1, 102))
ON_A, ON_B = PartitionId(Uuid.of(2, 1), 0), PartitionId(Uuid.of(2, 2), 0)
OF_THE_TEST = PartitionId(Uuid.of(2, 999), 0)
BATCH = raw_batch(0)


class SlowDisk(MemoryDisk):
    """What touches a file below `stuck` waits until the test lets it go, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck: str | None = None
        self.go_on = threading.Event()
        self.refuses: str | None = None

    def open(self, path: str, *, create: bool = False, write: bool = True) -> MemoryFile:
        return SlowFile(self, super().open(path, create=create, write=write), path)

    def touch(self, path: str) -> None:
        if self.stuck is not None and path.startswith(self.stuck):
            self.go_on.wait(60)

    def refuse(self, path: str) -> None:
        if self.refuses is not None and path.startswith(self.refuses):
            raise DiskFailed(f"cannot write to {path}: Input/output error")


class SlowFile(MemoryFile):
    def __init__(self, disk: SlowDisk, file: MemoryFile, path: str) -> None:
        super().__init__(disk, file._node)
        self._slow, self._path = disk, path

    def read_at(self, position: int, size: int) -> bytes:
        self._slow.touch(self._path)
        return super().read_at(position, size)

    def write_at(self, position: int, data: bytes) -> None:
        self._slow.touch(self._path)
        self._slow.refuse(self._path)
        super().write_at(position, data)

    def fdatasync(self) -> None:
        self._slow.touch(self._path)
        self._slow.refuse(self._path)
        super().fdatasync()


class Plane:
    def __init__(self, disk: SlowDisk) -> None:
        self.disk = disk
        self.events: list[BrokerEvent] = []
        self._came = asyncio.Event()
        self.plane = BrokerDataPlane(disk, {A: "/a", B: "/b"}, lambda request: None, wall_ms=lambda: 0)
        self.plane.attach(self._fed)

    def _fed(self, event: BrokerEvent) -> None:
        self.events.append(event)
        self._came.set()

    async def done(self, *effects: PartitionEffect, events: int) -> list[BrokerEvent]:
        """The next events, after these effects."""
        for effect in effects:
            self.plane.perform(effect)
        return await self.next(events)

    async def next(self, count: int) -> list[BrokerEvent]:
        async with asyncio.timeout(20):
            while len(self.events) < count:
                self._came.clear()
                await self._came.wait()
        got, self.events = self.events[:count], self.events[count:]
        return got

    async def settle(self) -> None:
        """Whatever the thread of /b can do is done: a log is opened after all that was asked before."""
        await self.done(OpenPartition(OF_THE_TEST, "of-the-test", B), events=1)


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    disk = SlowDisk()
    disk.make_directories("/a")
    disk.make_directories("/b")
    made = Plane(disk)
    opened = await made.done(OpenPartition(ON_A, "a", A), OpenPartition(ON_B, "b", B), events=2)
    assert all(isinstance(one, PartitionOpened) for one in opened)
    yield made
    disk.stuck = disk.refuses = None
    disk.go_on.set()
    made.plane.close(BrokerEpoch(1))


def read(number: int, *keys: PartitionId) -> ReadRecords:
    return ReadRecords(WorkId(number), tuple(ReadSlice(key, 0, 1000, 1) for key in keys), 1000)


async def test_a_write_that_hangs_holds_back_no_other_directory(plane: Plane) -> None:
    plane.disk.stuck = "/a"
    got = await plane.done(AppendRecords(ON_A, 1, BATCH), AppendRecords(ON_B, 1, BATCH), events=1)
    assert got == [PartitionWritten(ON_B, 1)]
    assert await plane.done(read(1, ON_B), events=1) == [RecordsRead(WorkId(1), (BATCH,))]
    plane.disk.go_on.set()
    assert await plane.next(1) == [PartitionWritten(ON_A, 1)]


async def test_records_are_written_and_read_between_logs_that_are_made_and_deleted(plane: Plane) -> None:
    """Else whoever makes a hundred topics on a busy disk holds back every producer."""
    plane.disk.stuck = "/b"
    plane.plane.perform(AppendRecords(ON_B, 1, BATCH))
    many = [PartitionId(Uuid.of(3, number), 0) for number in range(3)]
    for key in many:
        plane.plane.perform(OpenPartition(key, f"made-{key.topic_id}", B))
        plane.plane.perform(ClosePartition(key, delete=True))
    plane.plane.perform(AppendRecords(ON_B, 2, raw_batch(1)))
    plane.plane.perform(read(1, ON_B))
    plane.disk.go_on.set()
    found = [type(one) for one in await plane.next(6)]
    assert found[-2:] == [PartitionOpened, PartitionOpened], found
    assert found.count(PartitionWritten) == 2


async def test_what_is_asked_of_a_log_waits_until_it_is_made(plane: Plane) -> None:
    """However many others may go before it."""
    plane.disk.stuck = "/b"
    late = PartitionId(Uuid.of(3, 9), 0)
    for effect in (AppendRecords(ON_B, 1, BATCH), OpenPartition(late, "late", B), AppendRecords(late, 1, BATCH)):
        plane.plane.perform(effect)
    plane.plane.perform(read(1, late))
    plane.disk.go_on.set()
    written, opened, then_written, then_read = await plane.next(4)
    assert written == PartitionWritten(ON_B, 1)
    assert isinstance(opened, PartitionOpened)
    assert (then_written, then_read) == (PartitionWritten(late, 1), RecordsRead(WorkId(1), (BATCH,)))


async def test_a_sync_that_hangs_holds_back_no_other_directory(plane: Plane) -> None:
    await plane.done(AppendRecords(ON_A, 1, BATCH), events=1)
    plane.disk.stuck = "/a"
    plane.plane._checkpoint()
    assert await plane.done(AppendRecords(ON_B, 1, BATCH), events=1) == [PartitionWritten(ON_B, 1)]


async def test_reads_that_hang_hold_back_none_of_other_directories(plane: Plane) -> None:
    await plane.done(AppendRecords(ON_A, 1, BATCH), AppendRecords(ON_B, 1, BATCH), events=2)
    plane.disk.stuck = "/a"
    stuck = [read(number, ON_A) for number in range(READS_AT_ONCE + 3)]
    got = await plane.done(*stuck, read(9, ON_B), events=1)
    assert got == [RecordsRead(WorkId(9), (BATCH,))]
    mixed = await plane.done(read(10, ON_B, ON_A), events=1)
    assert mixed == [RecordsRead(WorkId(10), (BATCH, b""))], "it holds records, so it waits for no busy disk"


async def test_a_read_over_two_directories_is_one_answer_in_the_order_that_was_asked(plane: Plane) -> None:
    await plane.done(AppendRecords(ON_A, 1, BATCH), AppendRecords(ON_B, 1, BATCH), events=2)
    missing = PartitionId(Uuid.of(2, 3), 0)
    asked = ReadRecords(WorkId(3), tuple(ReadSlice(key, 0, 1000, 1) for key in (ON_B, ON_A, missing, ON_B)), 5000)
    assert await plane.done(asked, events=1) == [
        RecordsRead(WorkId(3), (BATCH, BATCH, ErrorCode.KAFKA_STORAGE_ERROR, BATCH))
    ]
    small = ReadRecords(WorkId(4), asked.slices[:2], 1)
    assert await plane.done(small, events=1) == [RecordsRead(WorkId(4), (BATCH, b""))], "one batch whole, not two"


async def test_a_disk_that_refuses_a_write_takes_its_directory_and_no_other(plane: Plane) -> None:
    other = PartitionId(Uuid.of(2, 4), 0)
    await plane.done(OpenPartition(other, "c", A), AppendRecords(other, 1, BATCH), events=2)
    plane.disk.refuses = "/a"
    failed, late = await plane.done(AppendRecords(ON_A, 1, BATCH), AppendRecords(other, 2, raw_batch(1)), events=2)
    assert isinstance(failed, DirectoryFailed)
    assert (failed.directory_id, "Input/output error" in failed.reason) == (A, True)
    assert isinstance(late, PartitionFailed)
    assert (late.key, late.fatal, late.reason) == (other, False, "log directory /a is offline")
    plane.disk.refuses = None
    before = len(plane.disk.operations)
    plane.plane._checkpoint()
    assert await plane.done(read(5, other), events=1) == [RecordsRead(WorkId(5), (ErrorCode.KAFKA_STORAGE_ERROR,))]
    (placed,) = await plane.done(OpenPartition(PartitionId(Uuid.of(2, 5), 0), "d", None), events=1)
    (answered,) = await plane.done(AppendRecords(ON_B, 1, BATCH), events=1)
    assert isinstance(placed, PartitionOpened)
    assert (placed.directory_id, answered) == (B, PartitionWritten(ON_B, 1))
    plane.plane.close(BrokerEpoch(7))
    assert len(plane.disk.operations) > before
    marks = [path for path in ("/a", "/b") if plane.disk.exists(f"{path}/.kafka_cleanshutdown")]
    assert marks == ["/b"]


async def test_a_refused_sync_at_a_checkpoint_takes_its_directory(plane: Plane) -> None:
    await plane.done(AppendRecords(ON_A, 1, BATCH), events=1)
    plane.disk.refuses = "/a"
    plane.plane._checkpoint()
    (failed,) = await plane.next(1)
    assert isinstance(failed, DirectoryFailed)
    plane.disk.refuses = None
    assert await plane.done(AppendRecords(ON_B, 1, BATCH), events=1) == [PartitionWritten(ON_B, 1)]


async def test_strays_are_told_when_every_directory_is_through(plane: Plane) -> None:
    plane.disk.make_directories("/a/x-0")
    plane.disk.make_directories("/b/x-1")
    plane.disk.stuck = "/a"
    plane.plane.perform(AppendRecords(ON_A, 1, BATCH))
    plane.plane.perform(SetAsideStrays(frozenset({ON_A, ON_B})))
    await plane.settle()
    assert plane.events == []
    plane.disk.go_on.set()
    written, strays = await plane.next(2)
    assert isinstance(strays, StraysSetAside)
    assert [path[:6] for path in strays.paths] == ["/a/x-0", "/b/x-1"]
    assert written == PartitionWritten(ON_A, 1)


async def test_a_log_opened_again_while_it_is_deleted_waits_in_the_same_directory(plane: Plane) -> None:
    """Else a crash could leave the partition in two."""
    await plane.done(AppendRecords(ON_B, 1, BATCH), events=1)
    plane.disk.stuck = "/b"
    plane.plane.perform(AppendRecords(ON_B, 2, raw_batch(1)))
    plane.plane.perform(ClosePartition(ON_B, delete=True))
    plane.plane.perform(OpenPartition(ON_B, "b", A))
    plane.disk.go_on.set()
    written, again = await plane.next(2)
    assert written == PartitionWritten(ON_B, 2)
    assert isinstance(again, PartitionOpened)
    assert (again.directory_id, again.end_offset) == (B, 0)
    assert await plane.done(AppendRecords(ON_B, 1, BATCH), events=1) == [PartitionWritten(ON_B, 1)]
    plane.plane.perform(ClosePartition(ON_B, delete=True))
    await plane.settle()
    (third,) = await plane.done(OpenPartition(ON_B, "b", A), events=1)
    assert isinstance(third, PartitionOpened)
    assert third.directory_id == A, "it was gone"


async def test_a_stop_closes_what_it_can_while_one_disk_hangs() -> None:
    disk = SlowDisk()
    disk.make_directories("/a")
    disk.make_directories("/b")
    made = Plane(disk)
    await made.done(OpenPartition(ON_A, "a", A), OpenPartition(ON_B, "b", B), events=2)
    disk.stuck = "/a"
    stop = threading.Thread(target=made.plane.close, args=(BrokerEpoch(3),))
    stop.start()
    for _ in range(2000):
        if disk.exists("/b/.kafka_cleanshutdown"):
            break
        await asyncio.sleep(0.01)
    assert disk.exists("/b/.kafka_cleanshutdown")
    assert stop.is_alive()
    disk.go_on.set()
    await asyncio.to_thread(stop.join)
    assert disk.exists("/a/.kafka_cleanshutdown")


@pytest.mark.parametrize(("allowed", "share"), [(1 << 20, 500), (1024, 256), (10, 8), (resource.RLIM_INFINITY, 500)])
async def test_logs_leave_half_of_the_descriptors_to_connections(
    monkeypatch: pytest.MonkeyPatch, allowed: int, share: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed, allowed))
    disk = SlowDisk()
    disk.make_directories("/a")
    disk.make_directories("/b")
    made = Plane(disk)
    assert [one._files._limit for one in made.plane._manager.directories.values()] == [share, share]
    made.plane.close(BrokerEpoch(1))


async def test_a_replica_found_in_two_directories_is_fatal_and_a_stray_one_is_not() -> None:
    disk = SlowDisk()
    for path in ("/a", "/b"):
        disk.make_directories(path)
        alone = PartitionWork(LogDirectory(disk, A, path), lambda _: (0, 0))
        alone.open(OpenPartition(ON_A, "x", None))
    made = Plane(disk)
    (failed,) = await made.done(SetAsideStrays(frozenset({ON_A})), events=1)
    assert isinstance(failed, PartitionFailed)
    assert (failed.key, failed.fatal) == (None, True)
    assert "both /a/x-0 and /b/x-0" in failed.reason
    assert disk.is_directory("/a/x-0")
    (strays,) = await made.done(SetAsideStrays(frozenset()), events=1)
    assert isinstance(strays, StraysSetAside)
    assert len(strays.paths) == 2
    made.plane.close(BrokerEpoch(1))
