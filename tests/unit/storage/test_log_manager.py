"""All partitions of a broker on its log directories: homes, strays, checkpoints, clean and unclean stops."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import OsFileSystem, read_whole
from controller_runtime.storage.log_manager import LogId, LogManager
from controller_runtime.storage.partition_log import PartitionLog, PartitionLogConfig
from support.memory_disk import Crashed, MemoryDisk
from support.raw_batches import raw_batch

pytestmark = pytest.mark.unit

A, B = DirectoryId(Uuid.of(1, 101)), DirectoryId(Uuid.of(1, 102))
ORDERS, OTHER = Uuid.of(2, 1), Uuid.of(2, 2)


def disk() -> MemoryDisk:
    made = MemoryDisk()
    made.make_directories("/a")
    made.make_directories("/b")
    return made


def manager(on: MemoryDisk) -> LogManager:
    return LogManager.open(on, {A: "/a", B: "/b"})


def open_log(
    on: LogManager, index: int, topic_id: Uuid = ORDERS, directory: DirectoryId | None = None
) -> tuple[PartitionLog, DirectoryId]:
    return on.open_log(LogId(topic_id, index), "orders", directory, PartitionLogConfig())


def test_new_partitions_spread_over_the_directories() -> None:
    logs = manager(disk())
    assert sorted(open_log(logs, index)[1] for index in range(4)) == [A, A, B, B]


def test_a_partition_goes_where_it_was_assigned_and_is_found_where_it_is() -> None:
    on = disk()
    logs = manager(on)
    assert open_log(logs, 0, directory=B)[1] == B
    assert open_log(manager(on.survivors("everything")), 0, directory=A)[1] == B


def test_a_directory_of_an_older_topic_of_the_same_name_is_moved_aside() -> None:
    on = disk()
    old, _ = open_log(manager(on), 0, OTHER, A)
    old.append(raw_batch(0))
    after = on.survivors("everything")
    fresh, _ = open_log(manager(after), 0, ORDERS, A)
    assert fresh.end_offset == 0
    assert f"orders-0.{OTHER.hex()}-stray" in after.list_directory("/a")


def test_a_deleted_partition_leaves_nothing() -> None:
    on = disk()
    logs = manager(on)
    open_log(logs, 0, directory=A)[0].append(raw_batch(0))
    logs.close_log(LogId(ORDERS, 0), delete=True)
    assert on.list_directory("/a") == []
    with pytest.raises(StorageError, match="is not open"):
        logs.log(LogId(ORDERS, 0))


def test_a_partition_of_the_longest_topic_is_deleted_and_moved_aside(tmp_path: Path) -> None:
    """Found by the fuzz: a name of 249 characters, its index and the topic's id are more than a file system takes."""
    topic, on = "x" * 249, OsFileSystem()

    def opened() -> LogManager:
        return LogManager.open(on, {A: str(tmp_path)})

    opened().open_log(LogId(OTHER, 0), topic, A, PartitionLogConfig())[0].close()
    logs = opened()
    logs.open_log(LogId(ORDERS, 0), topic, A, PartitionLogConfig())
    (stray,) = tmp_path.glob("*-stray")
    assert stray.name.endswith(f"-0.{OTHER.hex()}-stray")
    logs.close_log(LogId(ORDERS, 0), delete=True)
    assert list(tmp_path.glob("x*")) == [stray]


def test_a_deletion_that_a_crash_interrupted_is_finished_at_start() -> None:
    for operations in range(1, 20):
        on = disk()
        logs = manager(on)
        open_log(logs, 0, directory=A)[0].append(raw_batch(0))
        on.crash_after(operations)
        with suppress(Crashed):
            logs.close_log(LogId(ORDERS, 0), delete=True)
        after = on.survivors("everything")
        manager(after)
        assert after.list_directory("/a") in ([], ["orders-0"])


def test_a_clean_stop_is_known_once() -> None:
    on = disk()
    logs = manager(on)
    assert logs.previous_broker_epoch == -1
    open_log(logs, 0)[0].append(raw_batch(0))
    logs.shut_down(broker_epoch=42)
    assert read_whole(on, "/a/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":42}'
    after = on.survivors("synced only")
    assert manager(after).previous_broker_epoch == 42
    assert manager(after.survivors("synced only")).previous_broker_epoch == -1, "the mark is withdrawn durably"


def test_a_mark_in_some_directories_only_is_no_clean_stop() -> None:
    on = disk()
    manager(on).shut_down(broker_epoch=42)
    on.remove("/b/.kafka_cleanshutdown")
    assert manager(on.survivors("everything")).previous_broker_epoch == -1


def test_checkpoints_make_everything_durable_and_say_so_in_kafkas_files() -> None:
    on = disk()
    logs = manager(on)
    log, _ = open_log(logs, 3, directory=A)
    log.append(raw_batch(0, count=7))
    logs.checkpoint()
    assert read_whole(on, "/a/recovery-point-offset-checkpoint") == b"0\n1\norders 3 7\n"
    assert read_whole(on, "/a/replication-offset-checkpoint") == b"0\n1\norders 3 7\n"
    assert read_whole(on, "/a/log-start-offset-checkpoint") == b"0\n0\n"
    again, _ = open_log(manager(on.survivors("synced only")), 3)
    assert (again.end_offset, again.recovery_point) == (7, 7)


def test_a_deleted_prefix_survives_in_the_checkpoint() -> None:
    on = disk()
    logs = manager(on)
    log, _ = open_log(logs, 0, directory=A)
    log.append(raw_batch(0, count=3) + raw_batch(3, count=3))
    log.delete_before(log.end_offset)
    logs.checkpoint()
    assert open_log(manager(on.survivors("synced only")), 0)[0].start_offset == 6
