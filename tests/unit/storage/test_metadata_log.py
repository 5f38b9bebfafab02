"""The metadata log on a disk that can be crashed after any of its operations."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.storage.errors import CorruptFile, DiskFailed, InvalidOffset
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from support.disks.memory_disk import Crashed, MemoryDisk, Policy
from support.disks.raw_batches import raw_batch, raw_log, raw_snapshot

pytestmark = pytest.mark.unit

DIRECTORY = "/data/__cluster_metadata-0"
SMALL = LogConfig(segment_bytes=200, index_interval_bytes=100, tail_bytes=150)
POLICIES: tuple[Policy, ...] = ("synced only", "everything", "half of unsynced")


def opened(disk: MemoryDisk, config: LogConfig = LogConfig()) -> MetadataLog:
    return MetadataLog.open(disk, DIRECTORY, config)


def flush(log: MetadataLog) -> Offset:
    while (pending := log.take_pending_write()) is not None:
        pending.perform()
        log.complete(pending)
    return log.flushed_offset


def snapshot(offset: int, epoch: int = 1) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def all_of(log: MetadataLog) -> bytes:
    """Everything, read piece by piece as a follower would."""
    data, offset = b"", log.start_offset
    while piece := log.read(offset, 100):
        data += piece
        offset = Offset(list(split_batches(piece))[-1].last_offset + 1)
    return data


def test_an_append_is_readable_at_once_and_flushed_when_the_writer_is_done() -> None:
    log = opened(MemoryDisk())
    data = raw_log((1, 3), (1, 2))
    assert log.append(data) == 5
    assert log.read(Offset(0), 1 << 20) == data
    assert (log.end_offset, log.flushed_offset) == (5, 0)
    assert flush(log) == 5
    assert log.read(Offset(3), 1 << 20) == raw_batch(3, 1, 2)


def test_appends_during_a_write_share_the_next_sync() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_batch(0))
    first = log.take_pending_write()
    assert first is not None
    for offset in range(1, 20):
        log.append(raw_batch(offset))
    assert log.take_pending_write() is None, "one write at a time"
    first.perform()
    assert log.complete(first).flushed_offset == 1
    before = disk.operations.count("fdatasync")
    assert flush(log) == 20
    assert disk.operations.count("fdatasync") == before + 1
    assert disk.operations.count("write") <= before + 8


def test_segments_roll_by_size_and_reads_cross_them() -> None:
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    data = raw_log(*[(1, 1)] * 20)
    log.append(data)
    flush(log)
    logs = [name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]
    assert len(logs) == 10
    assert logs[1] == "00000000000000000002.log"
    assert all_of(log) == data


def test_a_read_ends_with_its_segment_in_memory_as_on_disk() -> None:
    """A Java follower appends an answer as a whole, and only what fits into one of its segments."""
    log = opened(MemoryDisk(), LogConfig(segment_bytes=200, tail_bytes=1 << 20))
    log.append(raw_log(*[(1, 1)] * 7))
    in_memory = [log.read(Offset(offset), 1 << 20) for offset in range(7)]
    flush(log)
    on_disk = opened(log._filesystem, SMALL)  # type: ignore[arg-type]  # nothing in memory any more
    assert in_memory == [on_disk.read(Offset(offset), 1 << 20) for offset in range(7)]
    assert [len(list(split_batches(piece))) for piece in in_memory] == [2, 1, 2, 1, 2, 1, 1]


def test_a_batch_larger_than_a_segment_has_one_of_its_own() -> None:
    """A follower of ours takes any valid batch, whatever its segments hold."""
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    large = raw_batch(1, 1, 40, payload=b"x" * SMALL.segment_bytes)
    data = raw_batch(0) + large + raw_batch(41)
    assert log.append(data) == 42
    flush(log)
    logs = [name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]
    assert [int(name.removesuffix(".log")) for name in logs] == [0, 1, 41]
    again = opened(disk, SMALL)
    assert all_of(log) == all_of(again) == data


def test_segments_roll_by_the_age_of_their_first_batch() -> None:
    disk = MemoryDisk()
    log = opened(disk, LogConfig(segment_ms=1000))
    for offset, timestamp in enumerate((0, 900, 1000, 1001, 1500)):
        log.append(raw_batch(offset, timestamp=timestamp))
    flush(log)
    logs = [name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]
    assert logs == ["00000000000000000000.log", "00000000000000000003.log"]


def test_reads_end_at_max_bytes_but_give_at_least_one_batch() -> None:
    log = opened(MemoryDisk())
    one = len(raw_batch(0))
    log.append(raw_log(*[(1, 1)] * 5))
    for flushed in (False, True):
        if flushed:
            flush(log)
            log = opened(log._filesystem)  # type: ignore[arg-type]  # nothing in memory any more
        assert log.read(Offset(1), 1) == raw_batch(1)
        assert log.read(Offset(1), 2 * one + 5) == raw_batch(1) + raw_batch(2)
        assert log.read(Offset(5), 100) == b""
        with pytest.raises(InvalidOffset):
            log.read(Offset(6), 100)


def test_a_reader_in_the_middle_of_a_batch_gets_the_whole_batch() -> None:
    log = opened(MemoryDisk())
    log.append(raw_log((1, 5), (1, 5)))
    assert log.read(Offset(7), 10) == raw_batch(5, 1, 5)


@pytest.mark.parametrize(
    "bad", [raw_batch(1), raw_batch(0)[:-1], b"junk", raw_batch(0) + raw_batch(5)], ids=["gap", "cut", "junk", "hole"]
)
def test_bytes_that_do_not_continue_the_log_are_refused(bad: bytes) -> None:
    log = opened(MemoryDisk())
    with pytest.raises(InvalidOffset):
        log.append(bad)


def test_an_epoch_may_not_go_back() -> None:
    log = opened(MemoryDisk())
    log.append(raw_batch(0, epoch=3))
    with pytest.raises(InvalidOffset, match="epoch 2 after epoch 3"):
        log.append(raw_batch(1, epoch=2))


@pytest.mark.parametrize("config", [LogConfig(), SMALL], ids=["one segment", "many segments"])
@pytest.mark.parametrize("flushed", [True, False])
def test_truncation_cuts_the_suffix_and_the_log_goes_on(config: LogConfig, flushed: bool) -> None:
    disk = MemoryDisk()
    log = opened(disk, config)
    log.append(raw_log((1, 2), (1, 2), (2, 2), (2, 2), (2, 2)))
    if flushed:
        flush(log)
    log.truncate(Offset(4))
    assert log.epoch_starts() == ((1, 0),)
    log.append(raw_log((3, 1), (3, 1), first=4))
    wanted = raw_log((1, 2), (1, 2)) + raw_log((3, 1), (3, 1), first=4)
    assert all_of(log) == wanted
    assert flush(log) == 6
    again = opened(disk.survivors("synced only"), config)
    assert all_of(again) == wanted
    assert again.epoch_starts() == ((1, 0), (3, 4))


def test_truncation_inside_a_batch_is_refused() -> None:
    log = opened(MemoryDisk())
    log.append(raw_log((1, 2), (1, 2)))
    with pytest.raises(InvalidOffset, match="not the start of a batch"):
        log.truncate(Offset(3))


def test_what_a_truncation_removed_is_never_reported_as_flushed() -> None:
    log = opened(MemoryDisk())
    log.append(raw_log((1, 5), (1, 5)))
    pending = log.take_pending_write()
    assert pending is not None
    log.truncate(Offset(5))
    log.append(raw_batch(5, 2, 20))
    pending.perform()
    assert log.complete(pending).flushed_offset == 5
    assert flush(log) == 25


def test_a_reset_drops_everything_and_continues_at_the_snapshot() -> None:
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    log.append(raw_log(*[(1, 1)] * 9))
    flush(log)
    log.write_snapshot(snapshot(50, 4), 0, b"part one, ", last=False)
    log.write_snapshot(snapshot(50, 4), 10, b"part two", last=True)
    pending = log.take_pending_write()
    assert pending is not None
    pending.perform()
    assert log.complete(pending).frozen_snapshots == (snapshot(50, 4),)
    log.reset(snapshot(50, 4))
    assert (log.start_offset, log.end_offset, log.flushed_offset) == (50, 50, 50)
    log.append(raw_batch(50, 4, 3))
    assert flush(log) == 53
    again = opened(disk.survivors("synced only"), SMALL)
    assert all_of(again) == raw_batch(50, 4, 3)
    assert again.snapshots() == (snapshot(50, 4),)
    assert again.read_snapshot(snapshot(50, 4), 5, 8) == b"one, par"
    assert again.snapshot_size(snapshot(50, 4)) == 18


def test_the_prefix_below_a_snapshot_can_be_deleted() -> None:
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    log.append(raw_log((1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (2, 1), (2, 1)))
    for offset in (2, 5):
        log.write_snapshot(snapshot(offset, 1 if offset == 2 else 2), 0, b"s", last=True)
    flush(log)
    log.delete_before(snapshot(5, 2))
    flush(log)
    assert (log.start_offset, log.snapshots()) == (5, (snapshot(5, 2),))
    assert log.epoch_starts() == ((2, 5),)
    with pytest.raises(InvalidOffset):
        log.read(Offset(4), 100)
    again = opened(disk.survivors("synced only"), SMALL)
    assert again.start_offset == 5, "its first segment begins at 4: only whole segments are removed"
    assert again.snapshots() == (snapshot(5, 2),)
    with pytest.raises(InvalidOffset):
        log.delete_before(snapshot(6, 2))


def test_an_unfinished_snapshot_disappears_at_start() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.write_snapshot(snapshot(7), 0, b"half", last=False)
    flush(log)
    again = disk.survivors("everything")
    assert any(name.endswith(".part") for name in again.list_directory(DIRECTORY))
    assert opened(again).snapshots() == ()
    assert not any(name.endswith(".part") for name in again.list_directory(DIRECTORY))


def test_a_failed_sync_is_fatal_and_reported() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_batch(0))
    disk.failing_syncs = True
    pending = log.take_pending_write()
    assert pending is not None
    with pytest.raises(DiskFailed):
        pending.perform()
    disk.failing_syncs = False
    assert log.take_pending_write() is None, "never retried: the log stays with the write that failed"
    assert log.flushed_offset == 0


def test_a_torn_tail_is_cut_at_every_byte() -> None:
    data = raw_log((1, 2), (2, 1), (2, 3))
    ends = [0, len(raw_batch(0)), 2 * len(raw_batch(0)), len(data)]
    for size in range(len(data) + 1):
        disk = MemoryDisk()
        log = opened(disk)
        log.append(data)
        flush(log)
        disk.open(f"{DIRECTORY}/00000000000000000000.log").truncate(size)
        again = opened(disk.survivors("everything"))
        kept = max(end for end in ends if end <= size)
        assert all_of(again) == data[:kept], f"cut at {size}"
        assert again.torn_bytes == size - kept


@pytest.mark.parametrize("garbage", [bytes(4096), b"\xff" * 700, raw_batch(3)[:-4] + b"????"])
def test_garbage_after_the_last_batch_is_a_torn_tail(garbage: bytes) -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_log((1, 3)))
    flush(log)
    file = disk.open(f"{DIRECTORY}/00000000000000000000.log")
    file.write_at(file.size(), garbage)
    assert all_of(opened(disk.survivors("everything"))) == raw_log((1, 3))


def test_every_flipped_bit_before_the_last_batch_is_refused_by_name_and_place() -> None:
    data = raw_log((1, 1), (1, 1), (1, 1))
    one = len(raw_batch(0))
    for position in range(2 * one):
        disk = MemoryDisk()
        log = opened(disk)
        log.append(data)
        flush(log)
        disk.open(f"{DIRECTORY}/00000000000000000000.log").write_at(position, bytes([data[position] ^ 4]))
        start = position // one * one
        within = position - start
        if 12 <= within < 16:
            continue  # the epoch is not under the checksum; the order of epochs catches what it can
        with pytest.raises(CorruptFile) as caught:
            opened(disk.survivors("everything"))
        assert caught.value.path == f"{DIRECTORY}/00000000000000000000.log"
        assert caught.value.offset == start, f"flipped byte {position}"


def test_a_missing_segment_is_refused() -> None:
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    log.append(raw_log(*[(1, 1)] * 9))
    flush(log)
    disk.remove(f"{DIRECTORY}/00000000000000000004.log")
    with pytest.raises(CorruptFile, match="ends at offset 4, the next segment begins at 6"):
        opened(disk.survivors("everything"), SMALL)


def test_a_log_that_starts_above_zero_without_a_snapshot_is_refused() -> None:
    disk = MemoryDisk()
    log = opened(disk, SMALL)
    log.append(raw_log(*[(1, 1)] * 9))
    flush(log)
    disk.remove(f"{DIRECTORY}/00000000000000000000.log")
    with pytest.raises(CorruptFile, match="starts at offset 2 and no snapshot covers"):
        opened(disk.survivors("everything"), SMALL)


def test_a_log_below_its_latest_snapshot_continues_at_the_snapshot() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.append(raw_batch(0, 1, 3))
    log.write_snapshot(snapshot(10, 2), 0, raw_snapshot(2), last=True)
    flush(log)
    again = opened(disk.survivors("everything"))
    assert (again.start_offset, again.end_offset) == (10, 10)


def story(disk: MemoryDisk, acknowledged: list[Offset]) -> None:
    """A life with rolls, truncation, snapshots, prefix deletion and a reset; notes what was reported as flushed."""
    log = opened(disk, SMALL)
    log.append(raw_log((1, 1), (1, 2), (1, 1), (2, 1)))
    acknowledged.append(flush(log))
    log.truncate(Offset(4))
    log.append(raw_batch(4, 3, 2))
    acknowledged.append(flush(log))
    log.write_snapshot(snapshot(4, 1), 0, raw_snapshot(1), last=True)
    log.append(raw_batch(6, 3, 2))
    acknowledged.append(flush(log))
    log.delete_before(snapshot(4, 1))
    acknowledged.append(flush(log))
    log.write_snapshot(snapshot(30, 5), 0, raw_snapshot(5), last=True)
    flush(log)
    log.reset(snapshot(30, 5))
    log.append(raw_batch(30, 5))
    acknowledged.append(flush(log))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_crash_after_any_operation_loses_nothing_acknowledged(policy: Policy) -> None:
    whole = MemoryDisk()
    story(whole, [])
    assert len(whole.operations) > 60
    for operations in range(len(whole.operations)):
        disk, acknowledged = MemoryDisk(), list[Offset]()
        disk.crash_after(operations)
        with pytest.raises(Crashed):
            story(disk, acknowledged)
        log = opened(disk.survivors(policy), SMALL)
        assert len(acknowledged) < 5 or log.end_offset >= 31
        # The first truncation takes back what the first flush reported: that is its purpose.
        floor = {0: 0, 1: 4}.get(len(acknowledged), max(acknowledged, default=0))
        assert log.end_offset >= floor, f"crash after {operations} operations: {disk.operations[-3:]}"
        assert all_of(log) == b"" or list(split_batches(all_of(log)))[-1].last_offset + 1 == log.end_offset
        log.append(raw_batch(log.end_offset, 9))
        assert flush(log) == log.end_offset
