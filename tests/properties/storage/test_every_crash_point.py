"""Every prefix of every sequence of disk operations is a crash: after each the node starts with all that it
acknowledged.

Each story prepares a disk, then does one thing that touches it: append, vote, truncate, take a snapshot, fetch one,
forget a prefix, format. The thing is cut after every single operation (write, fdatasync, rename, removal, directory
sync), and of what was not synced survives all, nothing, half, only the names or only the bytes. A start may refuse only
by naming a file; none of these gives it a reason to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, Uuid
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.storage.file_names import snapshot_file
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, format_directory
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.meta_properties import load_ensemble
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.metadata_snapshots import check_snapshot
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from support.disks.memory_disk import POLICIES, Crashed, MemoryDisk, Policy
from support.disks.raw_batches import raw_batch, raw_log, raw_snapshot
from support.nodes.lone_controller import LOG, LoneController, formatted_disk

pytestmark = pytest.mark.properties

DIRECTORY = "/data/__cluster_metadata-0"
SMALL = LogConfig(segment_bytes=200, index_interval_bytes=100, tail_bytes=150)


def at(offset: int, epoch: int = 1) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def flush(log: MetadataLog) -> Offset:
    while (pending := log.take_pending_write()) is not None:
        pending.perform()
        log.complete(pending)
    return log.flushed_offset


@dataclass
class Told:
    """What was acknowledged: the log's end and start, snapshots, the vote."""

    end: int = 0
    lowest_end: int = 1 << 40
    """Where a truncation was asked for: the end may be as low as that."""
    epoch: int = 0
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)


def prepared(disk: MemoryDisk) -> MetadataLog:
    """Sixteen records in eight segments, two snapshots, a vote: all on the platter."""
    log = MetadataLog.open(disk, DIRECTORY, SMALL)
    save_quorum_state(disk, DIRECTORY, QuorumState(Epoch(3), voted_id=NodeId(1), version=0))
    log.append(raw_log(*[(1, 1)] * 10, *[(3, 1)] * 6))
    flush(log)
    for offset in (4, 8):
        write = log.begin_snapshot(at(offset))
        assert write is not None
        log.snapshot_written(write, write.perform([raw_snapshot()]))
    flush(log)
    return log


def append(log: MetadataLog, told: Told) -> None:
    for _ in range(4):
        log.append(raw_log((3, 2), (3, 1), first=log.end_offset))
        told.end = flush(log)


def vote(log: MetadataLog, told: Told) -> None:
    for epoch in (4, 5):
        save_quorum_state(log._filesystem, DIRECTORY, QuorumState(Epoch(epoch), voted_id=NodeId(2), version=0))
        told.epoch = epoch


def truncate(log: MetadataLog, told: Told) -> None:
    told.lowest_end = 11
    log.truncate(Offset(13))
    flush(log)
    log.truncate(Offset(11))
    flush(log)
    told.end, told.lowest_end = 11, 11
    log.append(raw_batch(11, 5, 3))
    told.end = told.lowest_end = flush(log)


def take_snapshot(log: MetadataLog, told: Told) -> None:
    write = log.begin_snapshot(at(12, 3))
    assert write is not None
    log.snapshot_written(write, write.perform([raw_snapshot(3)[:90], raw_snapshot(3)[90:]]))
    told.snapshots.append(at(12, 3))


def forget_the_prefix(log: MetadataLog, told: Told) -> None:
    for offset in (4, 8):
        log.delete_before(at(offset))
        flush(log)
    told.snapshots = [at(8)]
    log.append(raw_batch(16, 3))
    told.end = flush(log)


def fetch_a_snapshot(log: MetadataLog, told: Told) -> None:
    data = raw_snapshot(5)
    log.write_snapshot(at(40, 5), 0, data[:100], last=False)
    flush(log)
    log.write_snapshot(at(40, 5), 100, data[100:], last=True)
    flush(log)
    log.reset(at(40, 5))
    flush(log)
    told.end, told.snapshots = 40, [at(40, 5)]
    log.append(raw_batch(40, 5, 2))
    told.end = flush(log)


def give_up_a_snapshot(log: MetadataLog, told: Told) -> None:
    log.write_snapshot(at(40, 5), 0, raw_snapshot(5)[:100], last=False)
    flush(log)
    log.drop_snapshot_part(at(40, 5))
    flush(log)
    append(log, told)


def roll_and_stop(log: MetadataLog, told: Told) -> None:
    log.roll()
    flush(log)
    append(log, told)
    log.close()


STORIES: list[Callable[[MetadataLog, Told], None]] = [
    append, vote, truncate, take_snapshot, forget_the_prefix, fetch_a_snapshot, give_up_a_snapshot, roll_and_stop,
]  # fmt: skip


def check(after: MemoryDisk, told: Told) -> None:
    log = MetadataLog.open(after, DIRECTORY, SMALL)
    assert log.end_offset >= min(told.end, told.lowest_end)
    assert log.start_offset == 0 or log.snapshots()[0].offset == log.start_offset, "INV-05"
    assert set(log.snapshots()) >= {one for one in told.snapshots if one.offset >= log.start_offset}
    for one in log.snapshots():
        check_snapshot(after, f"{DIRECTORY}/{snapshot_file(one)}")
    offset = log.start_offset
    while data := log.read(offset, 300):
        for batch in split_batches(data):
            offset = Offset(batch.last_offset + 1)
    assert offset == log.end_offset, "every batch can be read"
    state = load_quorum_state(after, DIRECTORY)
    assert state is not None
    assert state.epoch >= told.epoch
    leftovers = [name for name in after.list_directory(DIRECTORY) if name.endswith((".part", ".tmp", ".deleted"))]
    assert not leftovers
    log.append(raw_batch(log.end_offset, 9))
    assert flush(log) == log.end_offset
    again = MetadataLog.open(after.survivors("synced only"), DIRECTORY, SMALL)
    assert (again.end_offset, again.start_offset) == (log.end_offset, log.start_offset)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_crash_after_any_operation_loses_nothing_acknowledged(story: Callable[[MetadataLog, Told], None]) -> None:
    disk = MemoryDisk()
    log = prepared(disk)
    begun = len(disk.operations)
    story(log, Told(end=16, epoch=3, snapshots=[at(8)]))
    operations = len(disk.operations) - begun
    assert operations >= 6
    for cut in range(operations + 1):
        for policy in POLICIES:
            disk, told = MemoryDisk(), Told(end=16, epoch=3, snapshots=[at(8)])
            log = prepared(disk)
            disk.crash_after(cut)
            with pytest.raises(Crashed) if cut < operations else nullcontext():
                story(log, told)
            check(disk.survivors(policy), told)


TORN = [
    vote,
    take_snapshot,
    *(pytest.param(one, marks=pytest.mark.slow) for one in (append, fetch_a_snapshot, truncate)),
]


@pytest.mark.parametrize("story", TORN, ids=lambda story: story.__name__)
def test_a_write_torn_at_any_byte_loses_nothing_acknowledged(story: Callable[[MetadataLog, Told], None]) -> None:
    disk = MemoryDisk()
    log = prepared(disk)
    begun = len(disk.operations)
    story(log, Told())
    torn = 0
    for cut in range(len(disk.operations) - begun):
        disk, told = MemoryDisk(), Told(end=16, epoch=3, snapshots=[at(8)])
        log = prepared(disk)
        disk.crash_after(cut)
        with pytest.raises(Crashed):
            story(log, told)
        if disk.operations[-1] not in ("write", "truncate", "create"):
            continue  # after a sync nothing is torn that was not before
        for kept in range(disk.most_unsynced_bytes):
            check(disk.torn(kept), told)
            torn += 1
    assert torn > 40


REQUEST = FormatRequest(
    "b7XFcyEkSgSBsv7c2XVvyg",
    NodeId(1),
    ["/data"],
    "/data",
    [],
    [InitialVoter(NodeId(1), DirectoryId(Uuid.of(0x4000, 1)), Endpoint("c1", 9093))],
    "CONTROLLER",
)


def format_once(disk: MemoryDisk) -> None:
    format_directory(disk, "/data", REQUEST, now=0, date="Sat", new_directory_id=lambda: DirectoryId(Uuid.of(1, 1)))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_format_that_crashed_is_whole_or_can_be_done_again(policy: Policy) -> None:
    whole = MemoryDisk()
    format_once(whole)
    assert len(whole.operations) >= 12
    finished = 0
    for cut in range(len(whole.operations)):
        disk = MemoryDisk()
        disk.crash_after(cut)
        with pytest.raises(Crashed):
            format_once(disk)
        after = disk.survivors(policy)
        ensemble = load_ensemble(after, ["/data"], "/data") if after.exists("/data") else None
        assert ensemble is None or not ensemble.errors
        if ensemble is not None and ensemble.formatted:
            finished += 1
        else:
            format_once(after)
        kept = {name: bytes(node.data) for name, node in after.names.items() if not name.endswith(".tmp")}
        assert kept == {name: bytes(node.data) for name, node in whole.names.items()}
    assert finished <= 2, "meta.properties comes last: it says that the rest is there"


def test_a_whole_node_starts_after_a_crash_at_any_operation_of_its_life() -> None:
    """Election, appends, snapshots of its own and a log that begins later; the node is asked again for what it has
    committed.
    """
    config = SnapshotConfig(max_new_bytes=600, max_interval_ms=0, retention_bytes=1)
    seconds = 14.0

    def life(disk: MemoryDisk) -> LoneController:
        node = LoneController(disk, config)
        node.run(seconds)
        return node

    whole = formatted_disk()
    begun = len(whole.operations)
    assert life(whole).log.start_offset > 0
    operations = len(whole.operations) - begun
    assert operations > 100
    for cut in range(operations):
        disk = formatted_disk()
        disk.crash_after(cut)
        committed = 0
        node: LoneController | None = None
        with pytest.raises(Crashed):
            node = LoneController(disk, config)
            while True:
                committed = node.node.meta.high_watermark
                node.run(0.5)
        again = LoneController(disk.survivors(POLICIES[cut % len(POLICIES)]), config, started_at=2000.0)
        again.run(1)
        assert again.node.is_active, f"crash after {cut} operations"
        assert again.node.meta.high_watermark >= committed
        assert again.node.image.features.metadata_version > 0
        assert again.node.meta.replica.voters.ids == (1,)
        log = again.node.meta.replica.log
        assert (log.start_offset, log.end_offset) == (again.log.start_offset, again.log.end_offset)
        assert again.disk.exists(f"{LOG}/quorum-state")
