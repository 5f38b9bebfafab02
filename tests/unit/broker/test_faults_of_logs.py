"""What is wrong with one partition's log costs that partition, with a typed error that names the place; only a failing
disk ends the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from controller_runtime.broker.append_rules import AppendRules, BatchRefusal
from controller_runtime.broker.effects import (
    AppendRecords,
    BrokerEvent,
    DirectoryFailed,
    FindTimestamp,
    OpenPartition,
    PartitionEffect,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    TimestampFound,
    WorkId,
)
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.partition import OpenLog
from controller_runtime.identifiers import DirectoryId, Offset, PartitionId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.server.shell.data_plane import BrokerDataPlane
from controller_runtime.storage.errors import CorruptFile, DiskFailed, IndexOverflow
from controller_runtime.storage.log.batches import parse_batch
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.indexes import SegmentIndexes
from controller_runtime.storage.partition_log import PartitionLog
from support.clients.lying_batches import INT_MAX, LONG_MAX, TIME, batch, record, records
from support.disks.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

DATA = DirectoryId(Uuid.of(1, 200))
GOOD, BAD = PartitionId(Uuid.of(1, 1), 0), PartitionId(Uuid.of(1, 2), 0)


def whole(base: int, count: int = 1) -> bytes:
    return batch(records(count), count=count, base=base)


def lying(base: int) -> bytes:
    """What an earlier version of ours wrote: one record that claims 2^31-1."""
    return batch(records(1), count=INT_MAX, base=base)


def open_log(disk: MemoryDisk) -> PartitionLog:
    return PartitionLog.open(disk, "/data/t-0", Uuid.of(1, 1), LogConfig(index_interval_bytes=0))


def test_a_batch_too_far_for_the_indexes_begins_a_segment_as_in_kafka() -> None:
    """LOG-31, as deviations.md says."""
    disk = MemoryDisk()
    log = open_log(disk)
    for base in (0, INT_MAX, INT_MAX + 1, 2 * INT_MAX + 5, 1 << 40):
        log.append(whole(base))
    log.close()
    names = [name for name in disk.list_directory("/data/t-0") if name.endswith(".log")]
    assert sorted(int(name[:20]) for name in names) == [0, INT_MAX + 1, 2 * INT_MAX + 5, 1 << 40]
    again = open_log(disk)
    assert again.end_offset == (1 << 40) + 1
    assert again.read(Offset(INT_MAX), 1) == whole(INT_MAX)


def test_a_log_with_a_lying_batch_opens_or_says_which_file_and_place() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(lying(0))
    log.append(whole(INT_MAX))
    log.append(whole(INT_MAX + 1))
    assert log.read(Offset(INT_MAX + 1), 1) == whole(INT_MAX + 1)
    log.close()
    assert open_log(disk).end_offset == INT_MAX + 2

    joined = MemoryDisk()  # All in one segment, as it was written before.
    joined.make_directories("/data/t-0")
    file = joined.open("/data/t-0/00000000000000000000.log", create=True)
    file.write_at(0, lying(0) + whole(INT_MAX) + whole(INT_MAX + 1))
    with pytest.raises(CorruptFile) as fault:
        open_log(joined)
    place = len(lying(0) + whole(INT_MAX))
    assert (fault.value.path, fault.value.offset) == ("/data/t-0/00000000000000000000.log", place)
    assert file.size() == place + len(whole(0)), "nothing was cut: what lies there may be right"


def test_indexes_refuse_what_they_have_no_room_for_and_stay_as_they_were() -> None:
    indexes = SegmentIndexes(100, interval_bytes=0)
    for last, position in ((101 + INT_MAX, 0), (100, INT_MAX + 1)):
        place = parse_batch(whole(0), 0, position)
        assert isinstance(place, BatchHeader)
        with pytest.raises(IndexOverflow, match=r"too far from the segment's first offset 100"):
            indexes.add(moved(place, last))
    assert (indexes.max_timestamp, len(indexes.offset.offsets), len(indexes.time.offsets)) == (-1, 0, 0)


def moved(place: BatchHeader, last: int) -> BatchHeader:
    return place._replace(base_offset=last, last_offset_delta=0)


def test_a_partition_without_offsets_left_refuses() -> None:
    led = Leader(OpenLog(GOOD, "t", 0, LONG_MAX - 2, LONG_MAX - 2, LONG_MAX - 2), 0)
    outcome = led.append(batch(count=3), AppendRules(), TIME)
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert isinstance(parse_batch(whole(LONG_MAX), 0, 0), str)


def test_what_a_client_reads_is_answered_whatever_lies_in_the_log() -> None:
    """Header fields that no leader of today lets in, in a log that is there."""
    strange = [
        batch(attributes=7),
        batch(pack_nothing, attributes=1),
        batch(records(1), count=-5, delta=0),
        batch(record(0, headers=b"\xff" * 12)),
        batch(records(1), count=INT_MAX, delta=0),
    ]
    for data in strange:
        events = run_plane(
            OpenPartition(GOOD, "t", None),
            AppendRecords(GOOD, 1, data),
            ReadRecords(WorkId(1), (ReadSlice(GOOD, 0, 1000, 9),), 1000),
            FindTimestamp(WorkId(2), GOOD, 0),
            FindTimestamp(WorkId(3), GOOD, -3),
        )
        assert [type(event) for event in events] == [
            PartitionOpened, PartitionWritten, RecordsRead, TimestampFound, TimestampFound,
        ], data  # fmt: skip
        assert events[2] == RecordsRead(WorkId(1), (data,))


pack_nothing = b"no gzip"


@pytest.mark.parametrize(
    "error", [OverflowError("signed integer is greater than maximum"), AssertionError(), MemoryError()]
)
def test_an_inner_fault_takes_one_partition_offline_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failed, written, again = appended_with(monkeypatch, error)
    assert isinstance(failed, PartitionFailed)
    assert (failed.key, failed.fatal, failed.reason) == (BAD, False, str(error) or type(error).__name__)
    assert isinstance(written, PartitionWritten)
    assert isinstance(again, PartitionFailed)
    assert (again.key, again.fatal) == (BAD, False)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), DiskFailed("no room")])
def test_a_disk_that_fails_takes_its_directory_and_nothing_more_is_written(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """What that means is the broker's to say: `test_lost_directories`."""
    failed, *others = appended_with(monkeypatch, error)
    assert failed == DirectoryFailed(DATA, str(error))
    assert [type(other) for other in others] == [PartitionFailed, PartitionFailed]


def appended_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[BrokerEvent]:
    """The first append of the one partition fails, the other's is done, and the first one's second comes too late."""
    append, calls = PartitionLog.append, []

    def failing(self: PartitionLog, batches: bytes) -> Offset:
        calls.append(self)
        if len(calls) == 1:
            raise error
        return append(self, batches)

    monkeypatch.setattr(PartitionLog, "append", failing)
    opened = (OpenPartition(BAD, "bad", None), OpenPartition(GOOD, "good", None))
    appends = (AppendRecords(BAD, 1, whole(0)), AppendRecords(GOOD, 1, whole(0)), AppendRecords(BAD, 2, whole(1)))
    return run_plane(*opened, *appends)[2:]


def test_a_log_that_was_given_up_leaves_no_mark_of_a_clean_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    run_plane(OpenPartition(GOOD, "good", None), disk=disk)
    assert disk.exists("/data/.kafka_cleanshutdown")
    monkeypatch.setattr(PartitionLog, "append", lambda self, batches: 1 // 0)
    run_plane(OpenPartition(GOOD, "good", None), AppendRecords(GOOD, 1, whole(0)), disk=disk)
    assert not disk.exists("/data/.kafka_cleanshutdown")


def run_plane(*effects: PartitionEffect, disk: MemoryDisk | None = None) -> list[BrokerEvent]:
    """The events of these effects, in order; the plane is stopped cleanly afterwards."""
    given = disk or MemoryDisk()
    given.make_directories("/data")
    return asyncio.run(_run(given, effects))


async def _run(disk: MemoryDisk, effects: tuple[PartitionEffect, ...]) -> list[BrokerEvent]:
    events: list[BrokerEvent] = []
    plane = BrokerDataPlane(disk, {DATA: "/data"}, lambda _: None, wall_ms=lambda: 0)
    feed: Callable[[object], None] = events.append  # type: ignore[assignment]
    plane.attach(feed)
    for effect in effects:
        plane.perform(effect)
    while len(events) < len(effects):
        await asyncio.sleep(0.001)
    plane.close(7)
    return events
