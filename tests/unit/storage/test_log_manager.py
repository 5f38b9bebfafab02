"""All partitions of a broker on its log directories: homes, strays, checkpoints, clean and unclean stops."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from controller_runtime.identifiers import DirectoryId, Offset, PartitionId, Uuid
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import OsFileSystem, read_whole
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.open_files import MANY
from controller_runtime.storage.log_directory import MOVED
from controller_runtime.storage.partition_log import PartitionLog
from support.disks.memory_disk import Crashed, MemoryDisk
from support.disks.raw_batches import raw_batch
from support.disks.work_in_order import Logs

pytestmark = pytest.mark.unit

A, B = DirectoryId(Uuid.of(1, 101)), DirectoryId(Uuid.of(1, 102))
ORDERS, OTHER = Uuid.of(2, 1), Uuid.of(2, 2)


def disk() -> MemoryDisk:
    made = MemoryDisk()
    made.make_directories("/a")
    made.make_directories("/b")
    return made


def manager(on: MemoryDisk) -> Logs:
    return Logs.open(on, {A: "/a", B: "/b"})


def open_log(
    on: Logs, index: int, topic_id: Uuid = ORDERS, directory: DirectoryId | None = None
) -> tuple[PartitionLog, DirectoryId]:
    return on.open_log(PartitionId(topic_id, index), "orders", directory, LogConfig())


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
    logs.close_log(PartitionId(ORDERS, 0), delete=True)
    assert on.list_directory("/a") == []
    with pytest.raises(StorageError, match="is not open"):
        logs.log(PartitionId(ORDERS, 0))


def test_a_partition_of_the_longest_topic_is_deleted_and_moved_aside(tmp_path: Path) -> None:
    """Found by the fuzz: a name of 249 characters, its index and the topic's id are more than a file system takes."""
    topic, on = "x" * 249, OsFileSystem()

    def opened() -> Logs:
        return Logs.open(on, {A: str(tmp_path)})

    opened().open_log(PartitionId(OTHER, 0), topic, A, LogConfig())[0].close()
    logs = opened()
    logs.open_log(PartitionId(ORDERS, 0), topic, A, LogConfig())
    (stray,) = tmp_path.glob("*-stray")
    assert stray.name.endswith(f"-0.{OTHER.hex()}-stray")
    logs.close_log(PartitionId(ORDERS, 0), delete=True)
    assert list(tmp_path.glob("x*")) == [stray]


def test_a_deletion_that_a_crash_interrupted_is_finished_at_start() -> None:
    for operations in range(1, 20):
        on = disk()
        logs = manager(on)
        open_log(logs, 0, directory=A)[0].append(raw_batch(0))
        on.crash_after(operations)
        with suppress(Crashed):
            logs.close_log(PartitionId(ORDERS, 0), delete=True)
        after = on.survivors("everything")
        manager(after)
        assert after.list_directory("/a") in ([], ["orders-0"])


def test_a_clean_stop_is_known_once() -> None:
    on = disk()
    logs = manager(on)
    assert logs.previous_broker_epoch == -1
    open_log(logs, 0)[0].append(raw_batch(0))
    logs.shut_down(42, {})
    assert read_whole(on, "/a/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":42}'
    after = on.survivors("synced only")
    assert manager(after).previous_broker_epoch == 42
    assert manager(after.survivors("synced only")).previous_broker_epoch == -1, "the mark is withdrawn durably"


def test_a_mark_in_some_directories_only_is_no_clean_stop() -> None:
    on = disk()
    manager(on).shut_down(42, {})
    on.remove("/b/.kafka_cleanshutdown")
    assert manager(on.survivors("everything")).previous_broker_epoch == -1


def test_checkpoints_make_everything_durable_and_say_so_in_kafkas_files() -> None:
    on = disk()
    logs = manager(on)
    log, _ = open_log(logs, 3, directory=A)
    log.append(raw_batch(0, count=7))
    logs.checkpoint({PartitionId(ORDERS, 3): 5})
    assert read_whole(on, "/a/recovery-point-offset-checkpoint") == b"0\n1\norders 3 7\n"
    assert read_whole(on, "/a/replication-offset-checkpoint") == b"0\n1\norders 3 5\n"
    assert read_whole(on, "/a/log-start-offset-checkpoint") == b"0\n0\n"
    again, _ = open_log(manager(on.survivors("synced only")), 3)
    assert (again.end_offset, again.recovery_point) == (7, 7)


def test_a_deleted_prefix_survives_in_the_checkpoint() -> None:
    on = disk()
    logs = manager(on)
    log, _ = open_log(logs, 0, directory=A)
    log.append(raw_batch(0, count=3) + raw_batch(3, count=3))
    log.delete_before(log.end_offset)
    logs.checkpoint({})
    assert open_log(manager(on.survivors("synced only")), 0)[0].start_offset == 6


def test_a_replica_in_two_directories_is_for_a_person_to_judge_unless_it_is_stray() -> None:
    """As in Kafka, whose message names both and says which to delete."""
    on = disk()
    open_log(Logs.open(on, {A: "/a"}), 3)
    open_log(Logs.open(on, {B: "/b"}), 3)
    found = manager(on).found_twice({PartitionId(ORDERS, 3)})
    assert found == (
        "delete one of two directories: the log of orders-3 is found in both /a/orders-3 and /b/orders-3; "
        "if a log directory failed recently, delete the one that lies there"
    )
    assert manager(on).found_twice({PartitionId(OTHER, 3)}) is None
    assert manager(on).found_twice(set()) is None
    on.open(f"/b/orders-3/{MOVED}", create=True).close()
    twice = manager(on)
    assert twice.found_twice({PartitionId(ORDERS, 3)}) is None, "a move was about to remove the other"
    assert (twice.home(PartitionId(ORDERS, 3)).id, twice.old) == (B, {A: {("orders", 3)}})
    assert len(set_aside(on)) == 2


def test_new_partitions_are_not_placed_on_a_lost_disk() -> None:
    logs = manager(disk())
    logs.lose(A)
    assert {open_log(logs, index)[1] for index in range(4)} == {B}


# Strays.


def set_aside(on: MemoryDisk, *known: PartitionId) -> list[str]:
    return manager(on).set_aside_strays(set(known))


def test_what_is_not_known_or_does_not_say_whose_it_is_is_set_aside_and_nothing_else() -> None:
    """DIR-08, LOG-25."""
    on = disk()
    logs = manager(on)
    for index in (0, 1):
        open_log(logs, index, directory=A)[0].append(raw_batch(0))
    open_log(logs, 2, directory=B)
    on.make_directories("/b/orders-3")
    others = ["__cluster_metadata-0", "orders-4.0123456789abcdef0123456789abcdef-future", "lost+found", "orders-05"]
    for name in others:
        on.make_directories(f"/a/{name}")
    on.open("/a/orders-9", create=True)
    after = on.survivors("everything")
    paths = set_aside(after, PartitionId(ORDERS, 1))
    here = ORDERS.hex()
    assert paths == [
        f"/a/orders-0.{here}-stray",
        f"/b/orders-2.{here}-stray",
        f"/b/orders-3.{Uuid.of(0, 0).hex()}-stray",
    ]
    assert sorted(after.list_directory("/a")) == sorted([*others, "orders-1", "orders-9", f"orders-0.{here}-stray"])
    assert "00000000000000000000.log" in after.list_directory(f"/a/orders-0.{here}-stray"), "all that it held"
    assert set_aside(after, PartitionId(ORDERS, 1)) == [], "a stray is no partition any more"


def test_each_stray_has_a_name_of_its_own() -> None:
    """The same replica may become stray again: it was moved back, and away."""
    on = disk()
    names = []
    for _ in range(3):
        open_log(manager(on), 0, directory=A)
        names += set_aside(on)
    assert [name[:20] for name in names] == ["/a/orders-0." + ORDERS.hex()[:8]] * 3
    assert len(set(names)) == 3
    assert len(on.list_directory("/a")) == 3


def test_a_directory_that_says_nothing_readable_is_left_for_its_partition_to_tell() -> None:
    on = disk()
    open_log(manager(on), 0, directory=A)
    metadata = on.open("/a/orders-0/partition.metadata")
    metadata.write_at(0, b"???")
    assert set_aside(on) == []
    with pytest.raises(StorageError):
        open_log(manager(on), 0)


def test_what_was_set_aside_leaves_no_line_in_a_checkpoint() -> None:
    on = disk()
    logs = manager(on)
    for index in (0, 1):
        open_log(logs, index, directory=A)[0].append(raw_batch(0, count=7))
    logs.checkpoint({})
    after = on.survivors("everything")
    logs = manager(after)
    logs.set_aside_strays({PartitionId(ORDERS, 1)})
    open_log(logs, 1)
    logs.checkpoint({})
    assert read_whole(after, "/a/recovery-point-offset-checkpoint") == b"0\n1\norders 1 7\n"


@pytest.mark.parametrize("ended", ["opened", "set aside", "neither"])
def test_a_stop_is_clean_only_where_every_log_was_seen_since_the_last_that_was_not(ended: str) -> None:
    """LOG-12: a process that ends before it recovered its logs must not vouch for them."""
    on = disk()
    logs = manager(on)
    for index, directory in ((0, A), (1, B)):
        open_log(logs, index, directory=directory)[0].append(raw_batch(0))
    after = on.survivors("everything")
    logs = manager(after)
    open_log(logs, 1)
    if ended == "opened":
        open_log(logs, 0)
    elif ended == "set aside":
        logs.set_aside_strays({PartitionId(ORDERS, 1)})
    logs.shut_down(42, {})
    marks = [path for path in ("/a", "/b") if after.exists(f"{path}/.kafka_cleanshutdown")]
    assert marks == (["/b"] if ended == "neither" else ["/a", "/b"])


def test_a_clean_stop_stays_one_when_the_next_process_ends_before_it_opened_anything() -> None:
    on = disk()
    logs = manager(on)
    open_log(logs, 0, directory=A)[0].append(raw_batch(0))
    logs.shut_down(42, {})
    manager(on).shut_down(43, {})
    assert manager(on).previous_broker_epoch == 43


def test_the_high_watermark_that_was_checkpointed_is_known_at_the_next_start() -> None:
    """ISR-18, ISR-19, LOG-27: from the broker, not from the log; of a log that is not open the last one stays."""
    on = disk()
    logs = manager(on)
    for index in (0, 1):
        open_log(logs, index, directory=A)[0].append(raw_batch(0, count=7))
    logs.shut_down(42, {PartitionId(ORDERS, 0): 3, PartitionId(ORDERS, 1): 7})
    logs = manager(on)
    open_log(logs, 0)
    assert logs.home(PartitionId(ORDERS, 0)).high_watermark(PartitionId(ORDERS, 0)) == 3
    logs.shut_down(43, {PartitionId(ORDERS, 0): 5})
    assert read_whole(on, "/a/replication-offset-checkpoint") == b"0\n2\norders 0 5\norders 1 7\n"


def test_a_log_that_met_a_fault_is_recovered_though_the_last_stop_was_clean() -> None:
    """LOG-12."""
    on = disk()
    logs = manager(on)
    open_log(logs, 0, directory=A)[0].append(raw_batch(0) + raw_batch(1))
    logs.shut_down(42, {})
    logs = manager(on)
    open_log(logs, 0)
    logs.home(PartitionId(ORDERS, 0)).abandon(PartitionId(ORDERS, 0))
    file = on.open("/a/orders-0/00000000000000000000.log")
    file.write_at(file.size(), raw_batch(2)[:-3])
    assert open_log(logs, 0)[0].cut_bytes == len(raw_batch(2)) - 3


def test_many_logs_share_a_few_descriptors(tmp_path: Path) -> None:
    """10,000 partitions must not need 30,000 descriptors."""
    before = len(os.listdir("/proc/self/fd"))
    logs = Logs.open(OsFileSystem(), {A: str(tmp_path)})
    count = MANY + 50
    for index in range(count):
        open_log(logs, index)[0].append(raw_batch(0))
    for index in range(0, count, 7):
        assert logs.log(PartitionId(ORDERS, index)).read(Offset(0), 100) == raw_batch(0)
    assert len(os.listdir("/proc/self/fd")) - before <= MANY
    logs.shut_down(42, {})
    logs = Logs.open(OsFileSystem(), {A: str(tmp_path)})
    assert all(open_log(logs, index)[0].end_offset == 1 for index in range(count))
    assert len(os.listdir("/proc/self/fd")) - before <= MANY
