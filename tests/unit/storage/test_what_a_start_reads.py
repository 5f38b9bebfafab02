"""A clean start of a partition's log reads none of its segments, an unclean one only what it must; nothing that is
known of it gets lost by that.
"""

from __future__ import annotations

import struct

import pytest

from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.partition_log import PartitionLog
from support.disks.memory_disk import POLICIES, MemoryDisk, MemoryFile, Policy
from support.disks.raw_batches import raw_batch, raw_log
from unit.storage.test_partition_log import produced

pytestmark = pytest.mark.unit

DIRECTORY = "/data/orders-0"
TOPIC = Uuid.of(7, 7)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


def opened(disk: MemoryDisk, **kwargs: int | bool) -> PartitionLog:
    return PartitionLog.open(disk, DIRECTORY, TOPIC, SMALL, **kwargs)  # type: ignore[arg-type]


def filled(disk: MemoryDisk, batches: int = 40) -> PartitionLog:
    log = opened(disk)
    for number in range(batches):
        log.append(produced(number, producer=number % 3, epoch=2, sequence=number // 3))
    return log


def segments(disk: MemoryDisk) -> list[str]:
    return [name for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]


class Reads:
    """How many bytes of log files were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, disk: MemoryDisk) -> None:
        self.bytes = 0
        logs = {id(node) for path, node in disk.names.items() if path.endswith(".log")}
        read_at = MemoryFile.read_at

        def counted(file: MemoryFile, position: int, size: int) -> bytes:
            data = read_at(file, position, size)
            self.bytes += len(data) * (id(file._node) in logs)
            return data

        monkeypatch.setattr(MemoryFile, "read_at", counted)


def test_a_clean_start_reads_no_more_than_what_is_behind_the_last_index_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOG-07. "a clean start scans nothing"."""
    disk = MemoryDisk()
    filled(disk).close()
    after = disk.survivors("everything")
    assert len(segments(after)) >= 8
    reads = Reads(monkeypatch, after)
    log = opened(after, clean=True)
    assert log.end_offset == 40
    assert reads.bytes <= SMALL.index_interval_bytes + 2 * len(raw_batch(0))


def test_an_unclean_start_reads_from_the_recovery_point_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOG-08. "an unclean one only what it must"."""
    disk = MemoryDisk()
    log = filled(disk, 35)
    point = log.flush()
    for number in range(35, 40):
        log.append(raw_batch(number, 2))
    after = disk.survivors("everything")
    reads = Reads(monkeypatch, after)
    again = opened(after, recovery_point=point)
    assert again.end_offset == 40
    read = [int(name.removesuffix(".log")) for name in segments(after)]
    needed = next(base for base in reversed(read) if base <= point)
    sizes = sum(len(after.names[f"{DIRECTORY}/{base:020d}.log"].data) for base in read if base >= needed)
    assert reads.bytes == sizes
    assert {key: entry.batches for key, entry in again.producers.items()} == {
        key: entry.batches for key, entry in opened(disk.survivors("everything")).producers.items()
    }


@pytest.mark.parametrize("clean", [True, False])
def test_what_a_start_did_not_read_is_read_when_it_is_asked_for(clean: bool) -> None:
    disk = MemoryDisk()
    filled(disk).close()
    log = opened(disk.survivors("synced only"), clean=clean)
    for offset in range(40):
        (first, *_) = split_batches(log.read(Offset(offset), 1))
        assert first.base_offset == offset
    assert log.epoch_starts() == ((1, 0),)
    assert [log.producers[one].batches[-1].last_offset for one in range(3)] == [39, 37, 38]
    assert next(split_batches(next(log.batches_from(1000)))).base_offset == 0
    assert log.append(raw_batch(40, 3)) == 41


@pytest.mark.parametrize("missing", [".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint"])
def test_what_only_saves_reading_may_be_missing_or_damaged(missing: str) -> None:
    """LOG-10, LOG-15."""
    for damage in (None, b"", b"\x00\x00", b"\xff" * 24):
        disk = MemoryDisk()
        filled(disk).close()
        for path in [path for path in disk.names if path.endswith(missing)]:
            if damage is None:
                disk.remove(path)
            else:
                disk.names[path].data[:] = damage
        log = opened(disk.survivors("everything"), clean=True)
        assert (log.end_offset, log.epoch_starts()) == (40, ((1, 0),)), damage
        assert [b.last_offset for b in log.producers[0].batches] == [27, 30, 33, 36, 39], damage
        assert [next(split_batches(log.read(Offset(n), 1))).base_offset for n in range(40)] == list(range(40)), damage


def test_a_trusted_file_that_is_shorter_than_its_index_says_is_refused() -> None:
    disk = MemoryDisk()
    filled(disk).close()
    disk.open(f"{DIRECTORY}/{segments(disk)[-1]}").truncate(30)
    with pytest.raises(CorruptFile):
        opened(disk.survivors("everything"), clean=True)


def test_snapshots_of_producers_lie_at_segments_and_at_the_end() -> None:
    """LOG-14."""
    disk = MemoryDisk()
    filled(disk, 20).close()
    log = opened(disk, clean=True)
    log.append(raw_log(*[(2, 1)] * 3, first=20))
    log.close()
    names = [name for name in disk.list_directory(DIRECTORY) if name.endswith(".snapshot")]
    bases = [name.replace(".log", ".snapshot") for name in segments(disk)][1:]
    assert names == sorted({*bases, f"{23:020d}.snapshot"})


def test_a_snapshot_beyond_the_end_is_removed_before_something_else_comes_there() -> None:
    """LOG-14. Otherwise a later start would believe what it says of batches that a crash took."""
    disk = MemoryDisk()
    log = filled(disk, 6)
    point = log.flush()
    for number in range(6, 30):
        log.append(produced(number, producer=9, epoch=1, sequence=number - 6))
    for base in [name for name in segments(disk) if int(name[:20]) > 6]:
        disk.remove(f"{DIRECTORY}/{base}")
    after = disk.survivors("everything")
    again = opened(after, recovery_point=point)
    assert again.end_offset < 30
    left = [name for name in after.list_directory(DIRECTORY) if name.endswith(".snapshot")]
    assert all(int(name[:20]) <= again.end_offset for name in left)


def test_what_a_killed_process_left_in_the_page_cache_is_synced_before_it_is_called_durable() -> None:
    disk = MemoryDisk()
    filled(disk, 5)
    log = opened(disk)
    assert log.flush() == 5
    assert opened(disk.survivors("synced only"), recovery_point=5).end_offset == 5


def test_a_log_that_ends_below_its_start_goes_on_at_its_start() -> None:
    """LOG-13."""
    disk = MemoryDisk()
    filled(disk, 3).close()
    log = opened(disk, log_start=10)
    assert (log.start_offset, log.end_offset, log.epoch_starts(), log.producers) == (10, 10, (), {})
    assert log.append(raw_batch(10)) == 11


def test_truncation_takes_epochs_and_producers_back() -> None:
    """LOG-16, LOG-17."""
    disk = MemoryDisk()
    log = filled(disk, 30)
    for number in range(30, 34):
        log.append(raw_batch(number, 5))
    log.flush()
    log.truncate(Offset(20))
    assert (log.end_offset, log.epoch_starts(), log.recovery_point) == (20, ((1, 0),), 20)
    assert [b.last_offset for b in log.producers[0].batches] == [6, 9, 12, 15, 18]
    log.append(produced(20, producer=4, epoch=0, sequence=0))
    log.close()
    again = opened(disk.survivors("synced only"), clean=True)
    assert again.end_offset == 21
    assert [b.last_offset for b in again.producers[0].batches] == [6, 9, 12, 15, 18]
    assert [b.last_offset for b in again.producers[4].batches] == [20]


# A stop costs one sync for each log that has changed.


def small(disk: MemoryDisk) -> PartitionLog:
    """Three batches, too few for an entry of the offset index; the second is the latest."""
    log = PartitionLog.open(disk, DIRECTORY, TOPIC)
    for offset, timestamp in ((0, 10), (1, 30), (2, 20)):
        log.append(raw_batch(offset, timestamp=timestamp))
    return log


def latest(log: PartitionLog) -> list[int]:
    return [batch.base_offset for batch in split_batches(next(log.latest_batches()))]


def test_a_small_log_is_closed_with_one_sync_and_one_that_rests_with_none() -> None:
    disk = MemoryDisk()
    log = small(disk)
    before = disk.operations.count("fdatasync")
    log.close()
    assert disk.operations.count("fdatasync") == before + 1
    before = len(disk.operations)
    PartitionLog.open(disk, DIRECTORY, TOPIC, clean=True, recovery_point=3).close()
    assert disk.operations[before:] == []


@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_a_power_loss_leaves_of_its_indexes_a_clean_start_knows_the_latest_record(policy: Policy) -> None:
    disk = MemoryDisk()
    small(disk).close()
    log = PartitionLog.open(disk.survivors(policy), DIRECTORY, TOPIC, clean=True)
    assert (log.end_offset, latest(log)) == (3, [1])
    assert [batch.base_offset for batch in split_batches(next(log.batches_from(15)))] == [1]


@pytest.mark.parametrize("entry", [(99, 2), (10, 0), (30, 7)])
def test_a_time_index_that_was_never_synced_is_not_believed(entry: tuple[int, int]) -> None:
    disk = MemoryDisk()
    small(disk).close()
    disk.open(f"{DIRECTORY}/{0:020}.timeindex").write_at(0, struct.pack(">qi", *entry))
    log = PartitionLog.open(disk, DIRECTORY, TOPIC, clean=True)
    assert latest(log) == [1]
    log.close()
    assert bytes(disk.names[f"{DIRECTORY}/{0:020}.timeindex"].data) == struct.pack(">qi", 30, 1)


def test_an_index_that_once_had_entries_is_synced_when_it_has_none_any_more() -> None:
    """Else a power loss could bring back what pointed into batches that were cut away."""
    disk = MemoryDisk()
    filled(disk, 3).close()
    log = opened(disk, clean=True)
    log.truncate(Offset(1))
    log.close()
    assert disk.names[f"{DIRECTORY}/{0:020}.index"].durable == b""
    after = disk.survivors("synced only")
    assert bytes(after.names[f"{DIRECTORY}/{0:020}.index"].data) == b""
    cut = disk.survivors("everything")
    file = cut.open(f"{DIRECTORY}/{0:020}.index")
    file.write_at(0, struct.pack(">ii", 1, 100) * 3)
    file.fdatasync()
    again = opened(cut)
    again.close()
    assert bytes(cut.names[f"{DIRECTORY}/{0:020}.index"].durable) == b""


def test_a_new_log_costs_one_sync_that_of_its_topics_id() -> None:
    disk = MemoryDisk()
    log = PartitionLog.open(disk, DIRECTORY, TOPIC)
    assert disk.operations.count("fdatasync") == 1
    assert bytes(disk.names[f"{DIRECTORY}/leader-epoch-checkpoint"].data) == b"0\n0\n"
    log.append(raw_batch(0))
    after = disk.survivors("synced only")
    assert bytes(after.names[f"{DIRECTORY}/leader-epoch-checkpoint"].data) == b"0\n1\n1 0\n", "from then on durable"


def test_a_log_that_loses_its_epochs_does_so_durably() -> None:
    disk = MemoryDisk()
    log = PartitionLog.open(disk, DIRECTORY, TOPIC)
    log.append(raw_batch(0))
    log.truncate(Offset(0))
    assert bytes(disk.names[f"{DIRECTORY}/leader-epoch-checkpoint"].durable) == b"0\n0\n"


def test_epochs_that_were_found_in_the_batches_are_made_durable() -> None:
    disk = MemoryDisk()
    filled(disk, 3).close()
    disk.remove(f"{DIRECTORY}/leader-epoch-checkpoint")
    opened(disk)
    assert bytes(disk.names[f"{DIRECTORY}/leader-epoch-checkpoint"].durable) == b"0\n1\n1 0\n"


@pytest.mark.parametrize("clean", [True, False])
def test_an_empty_log_costs_a_stop_no_sync(clean: bool) -> None:
    disk = MemoryDisk()
    PartitionLog.open(disk, DIRECTORY, TOPIC).close()
    again = PartitionLog.open(disk, DIRECTORY, TOPIC, clean=clean)
    before = disk.operations.count("fdatasync")
    again.close()
    assert disk.operations.count("fdatasync") == before
