"""Which segments a partition's log does not keep, and what becomes of their files."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.storage.log.config import CleanupRules, LogConfig
from controller_runtime.storage.log.disk_work import SEGMENT_SUFFIXES
from controller_runtime.storage.partition_log import PartitionLog
from support.disks.memory_disk import POLICIES, Crashed, MemoryDisk, Policy
from support.disks.raw_batches import raw_batch

pytestmark = pytest.mark.unit

DIRECTORY = "/data/orders-0"
ONE = len(raw_batch(0))
NOW = 10_000


def log_of(*timestamps: int, disk: MemoryDisk | None = None, **rules: object) -> PartitionLog:
    """One batch of one record in each segment."""
    config = LogConfig(segment_bytes=ONE, index_interval_bytes=0, cleanup=CleanupRules(**rules))  # type: ignore[arg-type]
    log = PartitionLog.open(disk or MemoryDisk(), DIRECTORY, Uuid.of(7, 7), config)
    for offset, timestamp in enumerate(timestamps):
        log.append(raw_batch(offset, timestamp=timestamp))
    return log


def begins(log: PartitionLog, high_watermark: int | None = None) -> int:
    log.retain(log.end_offset if high_watermark is None else high_watermark, NOW)
    return log.start_offset


def files(disk: MemoryDisk, suffix: str = ".log") -> list[int]:
    return [int(name[:20]) for name in disk.list_directory(DIRECTORY) if name.endswith(suffix)]


def test_what_is_too_old_goes_and_what_is_just_young_enough_stays() -> None:
    """LOG-20."""
    assert begins(log_of(8_999, 9_000, 9_001, retention_ms=1_000)) == 1
    assert begins(log_of(8_998, 8_999, 9_001, retention_ms=1_000)) == 2
    assert begins(log_of(1, 2, 3, retention_ms=-1)) == 0


def test_an_old_segment_behind_a_young_one_stays() -> None:
    """LOG-22: a time that is still to come keeps all that follows it."""
    assert begins(log_of(NOW * 10, 1, 1, retention_ms=1_000)) == 0


def test_too_much_goes_by_whole_segments() -> None:
    """LOG-20: as long as what is left is not less than what may be kept."""
    for kept, start in ((3 * ONE, 0), (3 * ONE - 1, 0), (2 * ONE + 1, 0), (2 * ONE, 1), (ONE, 2), (1, 2)):
        assert begins(log_of(1, 1, 1, retention_bytes=kept)) == start, kept


def test_nothing_above_the_high_watermark_goes() -> None:
    """LOG-20, LOG-28."""
    for high_watermark in range(4):
        assert begins(log_of(1, 1, 1, retention_ms=0), high_watermark) == high_watermark


@pytest.mark.parametrize("rules", [{"retention_ms": 0}, {"retention_bytes": 0}])
def test_a_log_that_goes_whole_gets_an_empty_segment_first(rules: dict[str, int]) -> None:
    """LOG-21. Once: the empty one is not replaced by itself."""
    disk = MemoryDisk()
    log = log_of(1, 1, 1, disk=disk, **rules)
    assert log.retain(3, NOW) == 3
    assert (log.start_offset, log.end_offset, files(disk)) == (3, 3, [3])
    assert log.retain(3, NOW) == 0
    assert log.append(raw_batch(3)) == 4


def test_records_without_a_time_are_as_old_as_their_file() -> None:
    disk = MemoryDisk()
    log = log_of(-1, -1, disk=disk, retention_ms=1_000)
    disk.set_modified(f"{DIRECTORY}/{0:020}.log", 8_999)
    disk.set_modified(f"{DIRECTORY}/{1:020}.log", 9_000)
    assert begins(log) == 1


@pytest.mark.parametrize("policy", [{"compacts": True}, {}], ids=["compact", "empty"])
def test_a_log_that_does_not_delete_loses_only_what_is_below_its_start(policy: dict[str, bool]) -> None:
    """LOG-23."""
    disk = MemoryDisk()
    log = log_of(1, 1, 1, 1, disk=disk, deletes=False, retention_ms=0, retention_bytes=0, **policy)
    assert begins(log) == 0
    log.delete_before(Offset(2))
    assert begins(log) == 2
    assert files(disk) == [2, 3]


def test_both_policies_delete() -> None:
    """CLN-18."""
    assert begins(log_of(1, 9_999, compacts=True, retention_ms=1_000)) == 1


def test_files_get_a_suffix_and_their_removal_is_asked_for_after_the_delay() -> None:
    """LOG-24: all files of the segment, and of no other one."""
    disk = MemoryDisk()
    log = log_of(1, 1, 1, disk=disk, retention_bytes=ONE, file_delete_delay_ms=77)
    before = {name for name in disk.list_directory(DIRECTORY) if int(name[:20] if name[0] == "0" else "9") < 2}
    log.retain(3, NOW)
    aside = {name for name in disk.list_directory(DIRECTORY) if name.endswith(".deleted")}
    assert aside == {name + ".deleted" for name in before}
    assert f"{1:020}.snapshot.deleted" in aside
    (first, second) = log._graves
    assert (first.directory, first.delay_ms) == (DIRECTORY, 77)
    assert aside <= {*first.names, *second.names}
    assert len(first.names) == len(SEGMENT_SUFFIXES)


@pytest.mark.parametrize("policy", POLICIES)
def test_after_a_crash_at_any_step_the_log_is_as_before_or_as_after(policy: Policy) -> None:
    """LOG-20: with a beginning between the two, because every segment goes for itself; what is left is whole."""
    steps = 0
    while True:
        disk = MemoryDisk()
        log = log_of(*[1] * 5, disk=disk, retention_bytes=2 * ONE)
        log.flush()
        disk.crash_after(steps)
        try:
            log.retain(5, NOW)
        except Crashed:
            found = PartitionLog.open(disk.survivors(policy), DIRECTORY, Uuid.of(7, 7), recovery_point=5)
            start = found.start_offset
            assert 0 <= start <= 3
            assert found.end_offset == 5
            assert found.read(start, 10_000) == raw_batch(start, timestamp=1)
            steps += 1
        else:
            break
    assert steps > 6
