"""Snapshots on the disk: written as one, found by name, refused when they are not whole, removed when the log begins
later.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import CorruptFile, DiskFailed, DiskFull, InvalidOffset
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.scrub import ScrubCursor
from controller_runtime.storage.snapshot_writer import SnapshotGivenUp
from support.disks.memory_disk import Crashed, MemoryDisk, MemoryFile, Policy
from support.disks.raw_batches import raw_batch, raw_log, raw_snapshot

pytestmark = pytest.mark.unit

DIRECTORY = "/data/__cluster_metadata-0"
SMALL = LogConfig(segment_bytes=200, index_interval_bytes=100, tail_bytes=150)
POLICIES: tuple[Policy, ...] = ("synced only", "everything", "half of unsynced")


def opened(disk: MemoryDisk, config: LogConfig = SMALL) -> MetadataLog:
    return MetadataLog.open(disk, DIRECTORY, config)


def flush(log: MetadataLog) -> None:
    while (pending := log.take_pending_write()) is not None:
        pending.perform()
        log.complete(pending)


def at(offset: int, epoch: int = 1) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def log_of(disk: MemoryDisk, batches: int = 12) -> MetadataLog:
    """A flushed log of single records, two to a segment."""
    log = opened(disk)
    log.append(raw_log(*[(1, 1)] * batches))
    flush(log)
    return log


def take(log: MetadataLog, offset: int, data: bytes = raw_snapshot()) -> None:
    write = log.begin_snapshot(at(offset))
    assert write is not None
    log.snapshot_written(write, write.perform([data[:80], data[80:]]))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_crash_at_any_moment_leaves_a_whole_snapshot_or_none(policy: Policy) -> None:  # SNP-03
    whole = MemoryDisk()
    take(log_of(whole), 6)
    begun = len(log_of(MemoryDisk())._filesystem.operations)  # type: ignore[attr-defined]
    total = len(whole.operations)
    assert total - begun >= 7, "create, two writes, sync, read-only, rename, directory"
    survived = 0
    for operations in range(total - begun):
        disk = MemoryDisk()
        log = log_of(disk)
        disk.crash_after(operations)
        with pytest.raises(Crashed):
            take(log, 6)
        again = opened(disk.survivors(policy))
        assert again.end_offset == 12
        assert again.snapshots() in ((), (at(6),))
        if again.snapshots():
            survived += 1
            assert again.read_snapshot(at(6), 0, 1 << 20) == raw_snapshot()
        assert not [name for name in again._filesystem.list_directory(DIRECTORY) if name.endswith(".part")]
    assert survived == (0 if policy != "everything" else 1), "only a kernel that lives on keeps an unsynced rename"


def test_a_frozen_snapshot_takes_no_more_bytes() -> None:  # SNP-03
    disk = MemoryDisk()
    log = log_of(disk)
    take(log, 6)
    log.write_snapshot(at(6), len(raw_snapshot()), b"more", last=True)
    pending = log.take_pending_write()
    assert pending is not None
    with pytest.raises(AssertionError, match="has 0 bytes"):
        pending.perform()
    assert "chmod" in disk.operations


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("00000000000000000612-0000000002.checkpoint", at(612, 2)),
        ("00000000000000000000-0000000000.checkpoint", at(0, 0)),
        ("00000000000000000612-0000000002.checkpoint.part", None),
        ("00000000000000000612-0000000002-own.checkpoint.part", None),
        ("00000000000000000612-0000000002.checkpoint.deleted", None),
        ("612-2.checkpoint", None),
        ("bootstrap.checkpoint", None),
        ("00000000000000000612.log", None),
    ],
)
def test_the_name_of_a_snapshot_is_its_id(name: str, found: OffsetAndEpoch | None) -> None:  # SNP-05
    assert file_names.parse_snapshot_file(name) == found
    if found is not None:
        assert file_names.snapshot_file(found) == name
        assert file_names.is_leftover(file_names.snapshot_part_file(found))
        assert file_names.is_leftover(file_names.own_part_file(found))
    assert file_names.is_leftover(name) == name.endswith((".part", ".deleted"))


def test_a_snapshot_is_taken_of_what_the_log_holds_at_a_batch_boundary() -> None:  # SNP-02
    log = opened(MemoryDisk())
    log.append(raw_log((1, 3), (1, 3), (1, 3)))
    flush(log)
    for inside in (1, 2, 4, 8):
        with pytest.raises(InvalidOffset, match="not the start of a batch"):
            log.begin_snapshot(at(inside))
    with pytest.raises(InvalidOffset, match="ends at 9"):
        log.begin_snapshot(at(10))
    take(log, 3)
    assert log.begin_snapshot(at(3)) is None, "there is one"
    take(log, 6)
    log.delete_before(at(6))
    assert log.begin_snapshot(at(3)) is None, "the log begins later"
    assert log.begin_snapshot(at(9)) is not None, "the log's end is a boundary"


def test_a_snapshot_that_ends_behind_the_logs_start_is_removed_again() -> None:
    disk = MemoryDisk()
    log = log_of(disk)
    write = log.begin_snapshot(at(4))
    assert write is not None
    log.write_snapshot(at(50, 2), 0, raw_snapshot(2), last=True)
    flush(log)
    log.reset(at(50, 2))
    assert log.snapshot_written(write, write.perform([raw_snapshot()])) is False
    flush(log)
    assert log.snapshots() == (at(50, 2),)
    assert opened(disk.survivors("synced only")).snapshots() == (at(50, 2),)


def test_a_start_deletes_unfinished_and_stale_snapshots() -> None:  # SNP-06
    disk = MemoryDisk()
    log = log_of(disk)
    for offset in (4, 8):
        take(log, offset)
    log.delete_before(at(8))
    flush(log)
    stale = (at(4), at(7, 0))
    names = [file_names.snapshot_file(one) for one in stale] + [
        file_names.own_part_file(at(9)),
        file_names.snapshot_part_file(at(9)),
        file_names.snapshot_file(at(3)) + ".deleted",
        "00000000000000000009-0000000001-8173645.checkpoint.part",
    ]
    for name in names:
        disk.open(f"{DIRECTORY}/{name}", create=True).write_at(0, b"junk")
    again = opened(disk.survivors("everything"))
    assert again.snapshots() == (at(8),)
    assert again.start_offset == 8
    assert not set(names) & set(again._filesystem.list_directory(DIRECTORY))


def test_a_log_whose_start_no_snapshot_covers_is_refused_by_name() -> None:  # SNP-06
    disk = MemoryDisk()
    log = log_of(disk)
    take(log, 8)
    log.delete_before(at(8))
    flush(log)
    disk.remove(f"{DIRECTORY}/{file_names.snapshot_file(at(8))}")
    with pytest.raises(CorruptFile, match="no snapshot covers") as refused:
        opened(disk.survivors("everything"))
    assert refused.value.path == f"{DIRECTORY}/"


def test_a_log_that_ends_before_its_snapshot_begins_at_it() -> None:  # SNP-07
    disk = MemoryDisk()
    log = log_of(disk)
    log.write_snapshot(at(40, 3), 0, raw_snapshot(3), last=True)
    flush(log)
    again = opened(disk.survivors("synced only"))
    assert (again.start_offset, again.end_offset, again.epoch_starts()) == (40, 40, ())
    names = [name for name in again._filesystem.list_directory(DIRECTORY) if name.endswith(".log")]
    assert names == [f"{40:020}.log"]


@pytest.mark.parametrize("cut", [1, 60, 70, len(raw_snapshot(3)) - 72, len(raw_snapshot(3)) - 1])
def test_a_log_is_not_given_up_for_a_snapshot_that_is_torn(cut: int) -> None:  # SNP-07, SNP-17
    disk = MemoryDisk()
    log = log_of(disk)
    log.write_snapshot(at(40, 3), 0, raw_snapshot(3)[:cut], last=True)
    flush(log)
    before = disk.survivors("everything").list_directory(DIRECTORY)
    after = disk.survivors("everything")
    with pytest.raises(CorruptFile) as refused:
        opened(after)
    assert refused.value.path.endswith(file_names.snapshot_file(at(40, 3)))
    assert after.list_directory(DIRECTORY) == before, "nothing was removed"


def test_the_log_begins_only_at_a_snapshot_that_exists_above_its_start() -> None:  # SNP-08
    log = log_of(MemoryDisk())
    take(log, 6)
    take(log, 8)
    with pytest.raises(InvalidOffset):
        log.delete_before(at(7))
    with pytest.raises(InvalidOffset):
        log.delete_before(at(8, 2))
    log.delete_before(at(8))
    assert (log.start_offset, log.snapshots()) == (8, (at(8),))
    log.delete_before(at(8))
    assert log.start_offset == 8, "nothing to do"
    with pytest.raises(InvalidOffset):
        log.delete_before(at(6))


class FullDisk(MemoryDisk):
    """Takes so many bytes and no more."""

    room = 1 << 40

    def open(self, path: str, *, create: bool = False, write: bool = True) -> MemoryFile:
        file = super().open(path, create=create, write=write)
        return _Limited(self, file._node)


class _Limited(MemoryFile):
    def write_at(self, position: int, data: bytes) -> None:
        disk = self._disk
        assert isinstance(disk, FullDisk)
        if len(data) > disk.room:
            raise DiskFull("cannot write: No space left on device")
        disk.room -= len(data)
        super().write_at(position, data)


def test_a_full_disk_gives_the_snapshot_up_and_gets_its_bytes_back() -> None:
    disk = FullDisk()
    log = log_of(disk)
    before = disk.list_directory(DIRECTORY)
    disk.room = 100
    write = log.begin_snapshot(at(6))
    assert write is not None
    with pytest.raises(SnapshotGivenUp, match="No space left"):
        write.perform([raw_snapshot()[:80], raw_snapshot()[80:]])
    assert disk.list_directory(DIRECTORY) == before
    assert log.snapshots() == ()


def test_a_sync_that_fails_while_a_snapshot_is_written_is_final() -> None:
    disk = MemoryDisk()
    log = log_of(disk)
    write = log.begin_snapshot(at(6))
    assert write is not None
    disk.failing_syncs = True
    with pytest.raises(DiskFailed):
        write.perform([raw_snapshot()])
    assert not any(name.endswith(".checkpoint") for name in disk.list_directory(DIRECTORY))


# What the disk gives back changed: SNP-17.


def walk(log: MetadataLog, end: int) -> int:
    """Read as a follower does, from the start on; how many bytes it was given."""
    offset, size = 0, 0
    while offset < end:
        data = log.read(Offset(offset), 1 << 20)
        offset = [*split_batches(data)][-1].last_offset + 1
        size += len(data)
    return size


def test_no_flipped_bit_of_a_segment_is_read_as_if_it_were_good() -> None:  # SNP-17
    disk = MemoryDisk()
    log = log_of(disk, 30)
    path = f"{DIRECTORY}/{0:020}.log"
    file = disk.open(path)
    size = file.size()
    for position in range(12, size):
        if (position % len(raw_batch(0))) in range(12, 16):
            continue  # the epoch is not under the checksum
        good = file.read_at(position, 1)
        file.write_at(position, bytes([good[0] ^ 1]))
        with pytest.raises(CorruptFile) as found:
            walk(log, 2)
        assert found.value.path == path
        file.write_at(position, good)
    assert walk(log, 2) == size


def scrub_round(log: MetadataLog, max_bytes: int = 100) -> list[str]:
    """Everything once; the places of what is found."""
    found = []
    log._scrub = ScrubCursor()
    while (piece := log.begin_scrub(max_bytes)) is not None and log._scrub.rounds == 0:
        try:
            log.scrubbed(piece, piece.perform())
        except CorruptFile as error:
            found.append(str(error))
            log.scrubbed(piece, 1 << 62)
    return found


def test_a_scrub_goes_round_all_closed_segments_and_snapshots() -> None:
    disk = MemoryDisk()
    log = log_of(disk)
    take(log, 6)
    assert scrub_round(log) == []
    for name, position in ((f"{2:020}.log", 90), (file_names.snapshot_file(at(6)), 100)):
        file = disk.open(f"{DIRECTORY}/{name}")
        good = file.read_at(position, 1)
        file.write_at(position, bytes([good[0] ^ 16]))
        assert [name in text for text in scrub_round(log)] == [True], name
        file.write_at(position, good)
    assert scrub_round(log) == []


def test_an_empty_log_has_nothing_to_scrub() -> None:
    assert opened(MemoryDisk()).begin_scrub(100) is None


def test_a_rolled_log_can_be_forgotten_wholly() -> None:
    disk = MemoryDisk()
    log = opened(disk, LogConfig())
    log.append(raw_log(*[(1, 1)] * 5))
    log.roll()
    log.roll()
    log.append(raw_batch(5))
    flush(log)
    take(log, 5)
    log.delete_before(at(5))
    flush(log)
    names = [name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]
    assert names == [f"{5:020}.log"]
    again = opened(disk.survivors("synced only"))
    assert again.read(Offset(5), 100) == raw_batch(5)
