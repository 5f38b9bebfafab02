"""The log of a topic partition: reading, time, recovery."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from crc32c import crc32c

from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.storage.errors import CorruptFile, DiskFailed, InvalidOffset
from controller_runtime.storage.file_names import parse_partition_directory
from controller_runtime.storage.filesystem import read_whole
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.log.recovery import Recovered
from controller_runtime.storage.log.segmented_log import SegmentedLog
from controller_runtime.storage.partition_log import PartitionLog, WrongTopic
from support.disks.memory_disk import MemoryDisk
from support.disks.raw_batches import raw_batch, raw_log

pytestmark = pytest.mark.unit

DIRECTORY = "/data/orders-0"
TOPIC = Uuid.of(7, 7)
SMALL = LogConfig(segment_bytes=200, index_interval_bytes=80)


def opened(disk: MemoryDisk, config: LogConfig = SMALL, **kwargs: int | bool) -> PartitionLog:
    return PartitionLog.open(disk, DIRECTORY, TOPIC, config, **kwargs)  # type: ignore[arg-type]


def produced(base: int, producer: int, epoch: int, sequence: int, count: int = 1) -> bytes:
    """A batch of an idempotent producer."""
    data = bytearray(raw_batch(base, 1, count))
    data[43:57] = struct.pack(">qhi", producer, epoch, sequence)
    data[17:21] = struct.pack(">I", crc32c(bytes(data[21:])))
    return bytes(data)


def all_of(log: PartitionLog) -> bytes:
    data, offset = b"", log.start_offset
    while piece := log.read(offset, 100):
        data += piece
        offset = Offset(list(split_batches(piece))[-1].last_offset + 1)
    return data


def test_what_is_appended_is_read_back_across_segments() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    assert log.append(raw_log(*[(1, 2)] * 9)) == 18
    assert all_of(log) == raw_log(*[(1, 2)] * 9)
    assert len([name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]) == 5


def test_an_append_that_does_not_continue_the_log_is_refused() -> None:
    log = opened(MemoryDisk())
    log.append(raw_batch(0))
    with pytest.raises(InvalidOffset):
        log.append(raw_batch(0))
    with pytest.raises(InvalidOffset):
        log.append(b"half a batch")


def test_reading_outside_of_the_log_is_refused() -> None:
    log = opened(MemoryDisk())
    log.append(raw_log(*[(1, 1)] * 9))
    log.delete_before(Offset(5))
    assert log.read(Offset(9), 10) == b""
    for offset in (4, 10):
        with pytest.raises(InvalidOffset):
            log.read(Offset(offset), 10)


def test_a_timestamp_leads_to_the_first_batch_that_reaches_it() -> None:
    """QRY-05."""
    log = opened(MemoryDisk())
    stamps = (10, 20, 20, 15, 40, 30, 50, 50, 60)
    for offset, stamp in enumerate(stamps):
        log.append(raw_batch(offset, timestamp=stamp))
    for wanted in range(65):
        expected = next((offset for offset, stamp in enumerate(stamps) if stamp >= wanted), None)
        data = next(log.batches_from(wanted), b"")
        found = next((place.base_offset for place in split_batches(data)), None)
        assert found == expected, wanted
    (latest,) = split_batches(next(log.latest_batches()))
    assert latest.base_offset == 8


def test_a_clean_restart_finds_offsets_epochs_and_producers() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    for number in range(8):
        log.append(produced(number * 2, producer=5, epoch=1, sequence=number * 2, count=2))
    log.append(raw_batch(16, epoch=4))
    log.close()
    again = opened(disk.survivors("synced only"), clean=True)
    assert (again.end_offset, again.epoch_starts()) == (17, ((1, 0), (4, 16)))
    entry = again.producers[5]
    assert [(b.first_sequence, b.last_sequence) for b in entry.batches] == [(n, n + 1) for n in range(6, 16, 2)]
    assert entry.duplicate(1, 8, 9) is not None
    assert entry.duplicate(1, 4, 5) is None


def test_after_a_crash_what_is_not_whole_above_the_recovery_point_is_cut() -> None:
    """LOG-09."""
    data = raw_log(*[(1, 1)] * 6)
    one = len(raw_batch(0))
    for size in range(3 * one, len(data)):
        disk = MemoryDisk()
        log = opened(disk, LogConfig())
        log.append(data[: 3 * one])
        point = log.flush()
        log.append(data[3 * one :])
        disk.open(f"{DIRECTORY}/00000000000000000000.log").truncate(size)
        again = opened(disk.survivors("everything"), LogConfig(), recovery_point=point)
        assert all_of(again) == data[: size // one * one]


def test_a_hole_above_the_recovery_point_takes_the_later_segments_with_it() -> None:
    """LOG-09."""
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_log(*[(1, 1)] * 9))
    disk.open(f"{DIRECTORY}/00000000000000000002.log").write_at(30, b"????")
    again = opened(disk.survivors("everything"))
    assert again.end_offset == 2
    assert again.append(raw_batch(2)) == 3
    assert all_of(again) == raw_log((1, 1), (1, 1), (1, 1))


def test_a_bad_batch_below_the_recovery_point_is_refused() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_log(*[(1, 1)] * 9))
    point = log.flush()
    disk.open(f"{DIRECTORY}/00000000000000000008.log").write_at(30, b"????")
    with pytest.raises(CorruptFile, match=r"00000000000000000008\.log at byte 0"):
        opened(disk.survivors("everything"), recovery_point=point)


def test_flush_makes_every_segment_durable() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_log(*[(1, 1)] * 9))
    assert opened(disk.survivors("synced only")).end_offset < 9
    assert log.flush() == 9
    assert opened(disk.survivors("synced only")).end_offset == 9
    log.append(raw_batch(9))
    disk.failing_syncs = True
    with pytest.raises(DiskFailed):
        log.flush()
    assert log.recovery_point == 9


def test_an_append_is_durable_when_so_many_records_are_not() -> None:
    """LOG-30: `flush.messages`, over segments and after a change; a sync that fails is not called done."""
    disk = MemoryDisk()
    log = opened(disk, replace(SMALL, flush_messages=5))
    log.append(raw_log(*[(1, 2)] * 2))
    assert (log.recovery_point, opened(disk.survivors("synced only")).end_offset) == (0, 0)
    log.append(raw_batch(4))
    assert (log.recovery_point, opened(disk.survivors("synced only")).end_offset) == (5, 5)
    log.configure(replace(SMALL, flush_messages=1))
    for offset in range(5, 12):
        log.append(raw_batch(offset))
        assert opened(disk.survivors("synced only")).end_offset == offset + 1
    disk.failing_syncs = True
    with pytest.raises(DiskFailed):
        log.append(raw_batch(12))
    assert log.recovery_point == 12


def test_a_deleted_prefix_removes_whole_segments_and_keeps_its_start() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_log(*[(1, 1)] * 9))
    log.delete_before(Offset(5))
    assert disk.exists(f"{DIRECTORY}/00000000000000000004.log")
    assert not disk.exists(f"{DIRECTORY}/00000000000000000002.log")
    log.flush()
    assert opened(disk.survivors("everything"), log_start=5).start_offset == 5


def test_a_directory_of_another_topic_is_refused() -> None:
    """LOG-26."""
    disk = MemoryDisk()
    opened(disk)
    with pytest.raises(WrongTopic, match="belongs to topic id"):
        PartitionLog.open(disk, DIRECTORY, Uuid.of(8, 8))


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-12", ("a-b", 12)),
        ("orders", None),
        ("orders-x", None),
        ("-1", None),
        ("orders-0.3f-delete", None),
    ],
)
def test_partition_directories_are_told_from_others(name: str, parsed: tuple[str, int] | None) -> None:
    assert parse_partition_directory(name) == parsed


@pytest.mark.parametrize(("ordered", "kept"), [(True, ()), (False, ((1, 2),))])
def test_the_epoch_before_an_empty_log_is_kept_by_a_partition_and_left_to_its_snapshot_by_the_metadata_log(
    ordered: bool, kept: tuple[tuple[int, int], ...]
) -> None:
    disk = MemoryDisk()
    disk.make_directories("/log")
    files = OpenFiles(disk)
    log = SegmentedLog(files, "/log", LogConfig(), Recovered(), ordered=ordered)
    log.reset(Offset(0))
    log.append(raw_batch(0) + raw_batch(1))
    log.begin_at(Offset(2))
    assert log.epochs.entries() == kept


def test_an_empty_segment_is_not_rolled() -> None:
    """LOG-02: a second one of the same name would be written over the first; what follows goes into it."""
    disk = MemoryDisk()
    disk.make_directories("/log")
    log = SegmentedLog(OpenFiles(disk), "/log", LogConfig(), Recovered(), ordered=False)
    log.reset(Offset(0))
    log.roll()
    assert [segment.base_offset for segment in log.segments] == [0]
    log.append(raw_batch(0))
    log.roll()
    log.roll()
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    log.append(raw_batch(1))
    assert [segment.end_offset for segment in log.segments] == [1, 2]


def test_index_files_that_java_made_larger_end_with_their_last_entry_after_a_stop() -> None:
    """LOG-04: an open index of Java's is as large as it may become, also after a kill -9; a closed one is cut."""
    disk = MemoryDisk()
    log = opened(disk, LogConfig(index_interval_bytes=80))
    log.append(raw_log(*[(1, 1)] * 9))
    log.close()
    paths = [f"{DIRECTORY}/{0:020}{suffix}" for suffix in (".index", ".timeindex")]
    sizes = [len(read_whole(disk, path)) for path in paths]
    assert all(sizes)
    for path, size in zip(paths, sizes, strict=True):
        file = disk.open(path)
        file.write_at(size, bytes(480))
        file.close()
    again = opened(disk, LogConfig(index_interval_bytes=80))
    assert all_of(again) == raw_log(*[(1, 1)] * 9)
    again.append(raw_batch(9) + raw_batch(10))
    again.close()
    for path, size, entry in zip(paths, sizes, (8, 12), strict=True):
        data = read_whole(disk, path)
        assert size <= len(data) <= size + 2 * entry
        assert any(data[-entry:]), f"{path} ends with what was never written"


def test_the_epoch_of_what_lies_where_a_log_begins_is_kept() -> None:
    """LOG-19: from the beginning on; of the earlier ones nothing is left."""
    log = opened(MemoryDisk(), LogConfig())
    log.append(raw_log((1, 2), (2, 2), (4, 2)))
    for start, kept in ((1, ((1, 1), (2, 2), (4, 4))), (3, ((2, 3), (4, 4))), (4, ((4, 4),)), (6, ((4, 6),))):
        log.delete_before(Offset(start))
        assert log.epoch_starts() == kept, start


def test_a_read_begins_with_the_batch_that_has_the_offset_or_the_next_one_behind_a_hole() -> None:
    """FCH-23: also at the end of a segment, and right behind a roll."""
    log = opened(MemoryDisk(), LogConfig(segment_bytes=len(raw_batch(0, 1, 3)) * 2))
    for base in (0, 3, 20, 23):  # compaction took what was between
        log.append(raw_batch(base, 1, 3))
    assert len(log.segments) == 2
    first = {offset: next(iter(split_batches(log.read(Offset(offset), 1)))).base_offset for offset in range(26)}
    assert {at for at, base in first.items() if base == 0} == {0, 1, 2}
    assert {at for at, base in first.items() if base == 3} == {3, 4, 5}
    assert {at for at, base in first.items() if base == 20} == set(range(6, 23))
    assert {at for at, base in first.items() if base == 23} == {23, 24, 25}
    assert log.read(Offset(26), 1) == b""
