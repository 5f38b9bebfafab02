"""A clean stop remembers its logs, so that the next start opens none of their files; whatever came in between is
noticed, and what is not remembered is looked at as ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from controller_runtime.identifiers import DirectoryId, Offset, PartitionId, Uuid
from controller_runtime.storage import small_files
from controller_runtime.storage.log.config import CleanupRules, LogConfig
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.storage.remembered_logs import FILE
from support.disks.memory_disk import MemoryDisk
from support.disks.raw_batches import raw_batch
from unit.storage.test_partition_log import all_of, produced

pytestmark = pytest.mark.unit

DIRECTORY = DirectoryId(Uuid.of(1, 1))
TOPIC = Uuid.of(7, 7)
KEY = PartitionId(TOPIC, 0)
PLACE = "/data/orders-0"
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, cleanup=CleanupRules(file_delete_delay_ms=1))
EPOCH = 5


def opened(disk: MemoryDisk) -> tuple[LogDirectory, PartitionLog]:
    directory = LogDirectory(disk, DIRECTORY, "/data")
    return directory, directory.open_log(KEY, "orders", SMALL)


def stopped(batches: int = 40) -> MemoryDisk:
    """A disk with one log of several segments, epochs and producers, after a clean stop."""
    disk = MemoryDisk()
    disk.make_directories("/data")
    directory, log = opened(disk)
    for number in range(batches):
        epoch = 1 + number // 20
        batch = produced(number, producer=number % 3, epoch=2, sequence=number // 3)
        log.append(batch[:12] + epoch.to_bytes(4, "big") + batch[16:])
    directory.shut_down(EPOCH, {KEY: batches})
    return disk


class Touched:
    """Paths below the partition's directory that were opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        original = MemoryDisk.open

        def noted(disk: MemoryDisk, path: str, *, create: bool = False, write: bool = True) -> object:
            self.paths += [path] if path.startswith(PLACE) else []
            return original(disk, path, create=create, write=write)

        monkeypatch.setattr(MemoryDisk, "open", noted)


def test_the_start_after_a_clean_stop_opens_no_file_of_a_log_and_knows_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LOG-07. "a clean start scans nothing"."""
    disk = stopped()
    forgetful = disk.survivors("everything")
    forgetful.remove(f"/data/{FILE}")
    _, seen = opened(forgetful)
    touched = Touched(monkeypatch)
    directory, log = opened(disk)
    assert touched.paths == []
    assert directory.set_aside_strays({KEY}) == []
    assert (log.start_offset, log.end_offset, log.size_bytes) == (seen.start_offset, seen.end_offset, seen.size_bytes)
    assert log.epoch_starts() == seen.epoch_starts() == ((1, 0), (2, 20))
    assert {one: entry.batches for one, entry in log.producers.items()} == {
        one: entry.batches for one, entry in seen.producers.items()
    }
    assert all_of(log) == all_of(seen)


def test_a_log_that_was_remembered_goes_on_as_one_that_was_looked_at() -> None:
    """Bytes, indexes, snapshots and checkpoints of every file, after more batches and another clean stop."""
    disk = stopped()
    forgetful = disk.survivors("everything")
    forgetful.remove(f"/data/{FILE}")
    for one in (disk, forgetful):
        directory, log = opened(one)
        for number in range(40, 60):
            log.append(produced(number, producer=number % 3, epoch=2, sequence=number // 3))
        directory.shut_down(EPOCH + 1, {KEY: 60})
    files = [path for path in disk.names if path.startswith(PLACE)]
    assert files == [path for path in forgetful.names if path.startswith(PLACE)]
    assert all(disk.names[path].data == forgetful.names[path].data for path in files)


def test_a_log_that_nobody_touched_is_remembered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = stopped()
    for epoch in (EPOCH + 1, EPOCH + 2):
        directory, _ = opened(disk)
        directory.shut_down(epoch, {KEY: 40})
    touched = Touched(monkeypatch)
    _, log = opened(disk)
    assert (touched.paths, log.end_offset) == ([], 40)


def another_broker_stopped(disk: MemoryDisk) -> None:
    """As a Java broker leaves the directory: it does not know the file."""
    _edit(disk, f"/data/{small_files.CLEAN_SHUTDOWN}", json.dumps({"version": 0, "brokerEpoch": 9}).encode())


def nobody_stopped(disk: MemoryDisk) -> None:
    disk.remove(f"/data/{small_files.CLEAN_SHUTDOWN}")


def a_segment_is_longer(disk: MemoryDisk) -> None:
    path = max(path for path in disk.names if path.startswith(PLACE) and path.endswith(".log"))
    _edit(disk, path, bytes(disk.names[path].data) + raw_batch(40, 2))


def a_file_came(disk: MemoryDisk) -> None:
    disk.open(f"{PLACE}/00000000000000000040.snapshot.deleted", create=True)


def the_file_is_damaged(disk: MemoryDisk) -> None:
    data = bytes(disk.names[f"/data/{FILE}"].data)
    _edit(disk, f"/data/{FILE}", data.replace(b'"orders",0', b'"orders",1'))


def the_file_is_empty(disk: MemoryDisk) -> None:
    _edit(disk, f"/data/{FILE}", b"")


def _edit(disk: MemoryDisk, path: str, data: bytes) -> None:
    disk.names[path].data[:] = data


@pytest.mark.parametrize(
    "happen",
    [another_broker_stopped, nobody_stopped, a_segment_is_longer, a_file_came, the_file_is_damaged, the_file_is_empty],
)
def test_what_happened_since_the_stop_is_noticed(
    happen: Callable[[MemoryDisk], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = stopped()
    happen(disk)
    touched = Touched(monkeypatch)
    _, log = opened(disk)
    assert touched.paths
    assert log.end_offset == (41 if happen is a_segment_is_longer else 40)
    assert not disk.exists(f"/data/{FILE}")


def test_a_log_of_another_topic_of_the_same_name_is_set_aside_all_the_same() -> None:
    disk = stopped()
    directory = LogDirectory(disk, DIRECTORY, "/data")
    log = directory.open_log(PartitionId(Uuid.of(8, 8), 0), "orders", SMALL)
    assert log.end_offset == 0
    assert f"orders-0.{TOPIC.hex()}-stray" in disk.list_directory("/data")


def test_a_stray_is_set_aside_without_being_opened() -> None:
    disk = stopped()
    assert LogDirectory(disk, DIRECTORY, "/data").set_aside_strays(()) == [f"{PLACE}.{TOPIC.hex()}-stray"]


def test_what_was_deleted_and_waits_to_be_removed_is_removed_by_the_next_start() -> None:
    disk = stopped()
    directory, log = opened(disk)
    log.delete_before(Offset(20))
    directory.shut_down(EPOCH + 1, {KEY: 40})
    assert any(name.endswith(".deleted") for name in disk.list_directory(PLACE))
    _, again = opened(disk)
    assert again.start_offset == 20
    assert not any(name.endswith(".deleted") for name in disk.list_directory(PLACE))


def test_a_log_that_met_a_fault_leaves_nothing_to_believe() -> None:
    disk = stopped()
    directory, _ = opened(disk)
    directory.abandon(KEY)
    directory.shut_down(EPOCH + 1, {})
    assert not disk.exists(f"/data/{FILE}")
