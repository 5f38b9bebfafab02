"""A cluster formed from an archive up to a point in time: it leads with the bytes up to there and none behind, what is
left out is told, and an archive that cannot keep its promise is refused with what to do.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.metadata.records import encode_record
from controller_runtime.node.quorum.snapshots import SnapshotConfig as Snapshots
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import BatchHeader, batch_headers, encode_values
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.filesystem import join, read_whole
from controller_runtime.storage.meta_properties import MetaProperties, save_meta_properties
from controller_runtime.storage.metadata_log import MetadataLog
from metadata_pipeline.archive.memory import FILE, Memory, encode
from metadata_pipeline.wire.leader import Mark
from storage_guard.copies import Beyond, CopyReport, Helper
from storage_guard.helping import help_out
from storage_guard.recover import Order, recover
from storage_guard.survey import NO_NODE, survey
from support.disks.memory_disk import MemoryDisk
from support.nodes.lone_controller import (
    CLUSTER_ID,
    DATA,
    LOG,
    SMALL_SEGMENTS,
    LoneController,
    directory_of,
    own_config,
)

pytestmark = pytest.mark.properties

NEW = NodeId(2)
DRILL = str(Uuid(b"cluster of drill"))
KEPT, GONE, LATE = (Uuid(f"topic {number:>10}".encode()) for number in range(3))


def archived(seconds: float = 20.0, *, snapshots: bool = False) -> MemoryDisk:
    """Of a controller that wrote for a while; then topics came and went."""
    often = Snapshots(max_interval_ms=5000) if snapshots else Snapshots()
    node = LoneController(snapshots=often)
    node.run(seconds)
    disk = node.disk.survivors("synced only")
    log = MetadataLog.open(disk, LOG, SMALL_SEGMENTS)
    epoch = max(int(epoch) for epoch, _ in log.epoch_starts())
    latest = max(each.max_timestamp for each in every_batch(disk))
    stories: tuple[list[Message], ...] = (
        [TopicRecord(name="kept", topic_id=KEPT), TopicRecord(name="gone", topic_id=GONE)],
        [TopicRecord(name="late", topic_id=LATE), RemoveTopicRecord(topic_id=GONE)],
    )
    for at, story in enumerate(stories, 1):
        values = [encode_record(each, 0) for each in story]
        log.append(encode_values(values, int(log.end_offset), epoch, latest + 1000 * at))
    pending = log.take_pending_write()
    assert pending is not None
    pending.perform()
    log.complete(pending)
    end = int(log.end_offset)
    log.close()
    save_meta_properties(disk, DATA, MetaProperties(CLUSTER_ID, NodeId(NO_NODE), DirectoryId(KEPT)), "Sat")
    remember(disk, Memory(CLUSTER_ID, "1.0", Mark(end, epoch), epoch))
    return disk


def remember(disk: MemoryDisk, memory: Memory) -> None:
    file = disk.open(join(DATA, FILE), create=True)
    file.truncate(0)
    file.write_at(0, encode(memory))


def logs(disk: MemoryDisk, below: str = LOG) -> bytes:
    names = sorted(each for each in disk.list_directory(below) if each.endswith(".log"))
    return b"".join(read_whole(disk, join(below, each)) for each in names)


def every_batch(disk: MemoryDisk) -> list[BatchHeader]:
    return list(batch_headers(logs(disk)))


def asked(disk: MemoryDisk, point: str, cluster_id: str = CLUSTER_ID) -> CopyReport | str:
    """As the helper pod is asked, and answers."""
    values = {"LOG_DIRECTORY": DATA, "POINT": point, "ARCHIVE_OF": cluster_id}
    succeeded, line = help_out(disk, Helper.SURVEY, values, 0, "Sat")
    return CopyReport.from_json(line) if succeeded else line


def report(disk: MemoryDisk, point: str) -> CopyReport:
    found = asked(disk, point)
    assert isinstance(found, CopyReport), found
    return found


def made(disk: MemoryDisk, found: CopyReport) -> Order:
    order = Order(
        DRILL, NEW, 1, str(directory_of(NEW)), "nonce-1", found.promised + 1, found.end, found.last_epoch,
        "CONTROLLER", "controller-2", 9093, cut=True,
    )  # fmt: skip
    recover(disk, DATA, "/new/log", order, "pod-1", 1_795_000_000_000, "Sat")
    return order


def test_up_to_any_offset_the_new_log_has_the_whole_batches_below_it_and_one_more() -> None:
    origin = archived(2.0)
    whole, placed = logs(origin), every_batch(origin)
    for place in placed[4:]:
        for offset in {place.last_offset, place.last_offset - 1, place.base_offset} - {-1}:
            disk = origin.survivors("everything")
            found = report(disk, f"offset:{offset}")
            taken = [each for each in placed if each.last_offset <= offset]
            assert (found.end, found.known) == (taken[-1].next_offset, taken[-1].next_offset)
            made(disk, found)
            assert logs(disk) == whole, "the archive is only read"
            new = logs(disk, "/new/log/__cluster_metadata-0")
            assert new.startswith(whole[: taken[-1].end_position])
            assert [each.base_offset for each in batch_headers(new[taken[-1].end_position :])] == [found.end]


@pytest.mark.parametrize("snapshots", [False, True])
def test_a_point_in_time_stops_before_the_first_later_batch_and_the_rest_is_told(snapshots: bool) -> None:
    disk = archived(snapshots=snapshots)
    last = every_batch(disk)[-1]
    found = report(disk, f"time:{last.max_timestamp - 1}")
    assert found.end == last.base_offset
    assert found.beyond == Beyond(last.next_offset, ("late",), ("gone",))
    order = made(disk, found)
    assert max(_snapshot_offsets(disk, "/new/log/__cluster_metadata-0"), default=0) <= found.end
    again = survey(disk, "/new/log")
    assert (again.cluster_id, again.voters) == (DRILL, ((NEW, order.directory_id),))
    assert report(disk, f"time:{last.max_timestamp}").beyond == Beyond(last.next_offset)
    assert report(disk, "end").end == last.next_offset


def _snapshot_offsets(disk: MemoryDisk, below: str) -> list[int]:
    return [int(each[:20]) for each in disk.list_directory(below) if each.endswith(".checkpoint")]


@pytest.mark.parametrize("snapshots", [False, True])
def test_no_file_of_what_lies_behind_the_point_is_taken(snapshots: bool) -> None:
    disk = archived(snapshots=snapshots)
    names = [each for each in disk.list_directory(LOG) if each.endswith(".checkpoint" if snapshots else ".log")]
    newest, placed = max(int(each[:20]) for each in names), every_batch(disk)
    assert len(names) > 1
    found = report(disk, f"offset:{newest - 1 - placed[-1].last_offset_delta}")
    made(disk, found)
    new = "/new/log/__cluster_metadata-0"
    assert max(int(each[:20]) for each in disk.list_directory(new) if each[:20].isdigit()) <= found.end < newest
    assert survey(disk, "/new/log").start == found.start


def test_the_only_voter_of_it_leads_with_the_state_of_that_moment() -> None:
    disk = archived()
    found = report(disk, f"offset:{every_batch(disk)[-1].base_offset}")
    order = made(disk, found)
    only = MemoryDisk()
    for path, node in disk.names.items():
        if path.startswith("/new/log/"):
            target = DATA + path.removeprefix("/new/log")
            only.make_directories(target.rpartition("/")[0])
            only.open(target, create=True).write_at(0, bytes(node.data))
    leader = LoneController(only, config=own_config(NEW, directory_of(NodeId(9)), Snapshots(), dynamic=True))
    leader.run(10)
    assert survey(only, DATA).last_epoch > order.epoch, "it leads"
    assert {each.name for each in leader.node.image.topics} == {"kept", "gone"}


def test_what_grows_behind_the_end_that_was_found_is_not_taken() -> None:
    disk = archived()
    found = report(disk, f"offset:{every_batch(disk)[-1].base_offset - 1}")
    shorter = found.end
    made(disk, found)
    assert survey(disk, "/new/log").end > shorter
    assert list(batch_headers(logs(disk, "/new/log/__cluster_metadata-0")))[-1].base_offset == shorter


def test_an_archive_that_does_not_keep_its_promise_is_refused_with_a_remedy() -> None:
    origin = archived()
    last = every_batch(origin)[-1]
    memory = Memory(CLUSTER_ID, "1.0", Mark(last.next_offset, last.partition_leader_epoch), 1)

    def refused(point: str = "end", memory: Memory = memory, flip: int | None = None, cluster: str = CLUSTER_ID) -> str:
        disk = origin.survivors("everything")
        remember(disk, memory)
        if flip is not None:
            name = max(each for each in disk.list_directory(LOG) if each.endswith(".log"))
            file = disk.open(join(LOG, name))
            file.write_at(flip, bytes([file.read_at(flip, 1)[0] ^ 1]))
        found = asked(disk, point, cluster)
        assert isinstance(found, str), found
        return found

    assert "restore the volume" in refused(flip=70)
    assert "an offset up to" in refused(f"offset:{last.next_offset}")
    assert "a time up to" in refused(f"time:{last.max_timestamp + 1}")
    assert "forked" in refused(memory=Memory(CLUSTER_ID, "1.0", Mark(last.next_offset, 99), 99))
    assert "restore the volume" in refused(memory=Memory(CLUSTER_ID, "1.0", Mark(last.next_offset + 1, 1), 1))
    assert f"or clusterID {CLUSTER_ID}" in refused(cluster=DRILL)
    assert "a later point" in refused("time:1")
    other = origin.survivors("everything")
    other.remove(join(DATA, FILE))
    assert "the claim of an archive" in str(asked(other, "end"))


def test_an_epoch_that_goes_back_is_a_fork() -> None:
    disk = archived()
    placed = every_batch(disk)
    assert all(one.partition_leader_epoch <= two.partition_leader_epoch for one, two in pairwise(placed))
    name = max(each for each in disk.list_directory(LOG) if each.endswith(".log"))
    data = encode_values([encode_record(TopicRecord(name="x", topic_id=LATE), 0)], placed[-1].next_offset, 0, 1)
    disk.open(join(LOG, name)).write_at(len(read_whole(disk, join(LOG, name))), data)
    assert "forked" in str(asked(disk, "end"))
