"""When a node takes a snapshot, what is in it, and when its log forgets what the snapshot holds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from controller_runtime.identifiers import Epoch, Instant, Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage, OpenTransaction
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node.quorum.effects import ShortenLog, TakeSnapshot
from controller_runtime.node.quorum.snapshot_content import content
from controller_runtime.node.quorum.snapshots import Kept, SnapshotConfig, first_needed
from controller_runtime.protocol.control_records import ControlType, decode_control
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches
from controller_runtime.raft.voter_set import EMPTY
from support.nodes.lone_controller import LoneController

pytestmark = pytest.mark.unit

NEVER_BY_AGE = 0


def often(bytes_between: int = 3000, **more: int) -> SnapshotConfig:
    return SnapshotConfig(max_new_bytes=bytes_between, max_interval_ms=NEVER_BY_AGE, **more)


def asked(node: LoneController) -> list[TakeSnapshot]:
    return [effect for effect in node.seen if isinstance(effect, TakeSnapshot)]


def batches(node: LoneController, snapshot_id: OffsetAndEpoch) -> list[RecordBatch]:
    size = node.log.snapshot_size(snapshot_id)
    assert size is not None
    return decode_batches(node.log.read_snapshot(snapshot_id, 0, size))


def image_in(found: list[RecordBatch]) -> MetadataImage:
    builder = MetadataImage.empty().builder()
    for batch in found:
        if not batch.header.is_control:
            for record in batch.records:
                replay(builder, decode_record(record.value or b"")[0])
    return builder.freeze()


def test_a_snapshot_is_due_when_enough_was_replayed_since_the_last_one() -> None:
    node = LoneController(snapshots=often(3000))
    node.run(60)
    ends = [effect.snapshot_id.offset for effect in asked(node)]
    assert len(ends) >= 3
    sizes = [len(node.log.read(Offset(end), 1)) for end in ends]
    assert all((after - before) * max(sizes) >= 2500 for before, after in pairwise(ends))


def test_a_snapshot_is_due_when_the_last_one_is_old_and_something_is_new() -> None:
    node = LoneController(snapshots=SnapshotConfig(max_interval_ms=10_000))
    node.run(9)
    assert not asked(node)
    node.run(2)
    assert len(asked(node)) == 1
    node.run(10)
    assert len(asked(node)) == 2
    quiet = LoneController(snapshots=SnapshotConfig(max_interval_ms=10_000))
    quiet.run(11)
    image, offset, replayed = quiet.node.image, quiet.node.image_offset, 0
    keeper = quiet.node.upkeep.keeper
    keeper._start_anew(replayed, quiet.now)
    later = Instant(quiet.now + 60)
    assert keeper.poll(image, offset, 1, replayed, later, quiet.wall) == [], "nothing is new"
    assert keeper.next_deadline() > later, "and nobody waits for it"


def test_age_zero_means_never_by_age() -> None:
    node = LoneController(snapshots=SnapshotConfig(max_interval_ms=NEVER_BY_AGE))
    node.run(100)
    assert node.node.upkeep.keeper.next_deadline() < node.now + 100, "only tidying is due"
    assert not asked(node)


def test_one_snapshot_at_a_time() -> None:
    node = LoneController(snapshots=often(1000))
    node.holds_snapshots = True
    node.run(60)
    assert len(asked(node)) == 1
    node.finish_snapshot()
    assert len(asked(node)) == 2, "the next one was due meanwhile"


def test_there_is_no_snapshot_inside_a_transaction() -> None:
    node = LoneController(snapshots=often(1000))
    node.holds_snapshots = True
    node.run(1)
    keeper, writer = node.node.upkeep.keeper, node.node.quorum.writer
    assert writer is not None
    image = writer.committed_image
    builder = image.builder()
    builder.transaction = OpenTransaction("big", image)
    inside = builder.freeze()
    where = (writer.committed_offset, 1, 1_000_000, node.now, node.wall)
    assert keeper.poll(inside, *where) == []
    assert any(isinstance(effect, TakeSnapshot) for effect in keeper.poll(image, *where))


@pytest.mark.parametrize("dynamic", [True, False], ids=["kraft.version 1", "kraft.version 0"])
def test_a_snapshot_says_what_the_image_says_between_its_header_and_footer(dynamic: bool) -> None:  # SNP-04
    node = LoneController(snapshots=often(), dynamic=dynamic)
    node.run(30)
    effect = asked(node)[-1]
    found = batches(node, effect.snapshot_id)
    assert image_in(found) == effect.image
    head = [decode_control(record) for record in found[0].records]
    voters = [ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS] if dynamic else []
    assert [control.type for control in head] == [ControlType.SNAPSHOT_HEADER, *voters]
    assert [decode_control(record).type for record in found[-1].records] == [ControlType.SNAPSHOT_FOOTER]
    assert [batch.header.is_control for batch in found] == [True, *[False] * (len(found) - 2), True]
    offset = 0
    for batch in found:
        assert (batch.header.base_offset, batch.header.partition_leader_epoch) == (offset, effect.snapshot_id.epoch)
        offset = batch.header.next_offset
    message = head[0].message
    assert isinstance(message, SnapshotHeaderRecord)
    last = decode_batches(node.log.read(Offset(effect.snapshot_id.offset - 1), 1))[0]
    assert message.last_contained_log_timestamp == last.header.max_timestamp


def test_batches_of_a_snapshot_are_bounded_in_records_and_bytes() -> None:
    def configs(count: int, size: int) -> MetadataImage:
        builder = MetadataImage.empty().builder()
        records: list[VersionedRecord] = [
            (ConfigRecord(resource_type=2, resource_name=f"t{n}", name="a", value="v" * size), 0) for n in range(count)
        ]
        for record, _ in records:
            replay(builder, record)
        return builder.freeze()

    def bodies(image: MetadataImage) -> list[RecordBatch]:
        effect = TakeSnapshot(OffsetAndEpoch(Offset(9), Epoch(1)), image, 0, EMPTY, 0, WallClock(0))
        return decode_batches(b"".join(content(effect)))[1:-1]

    assert [batch.header.record_count for batch in bodies(configs(2500, 3))] == [1024, 1024, 452]
    large = bodies(configs(100, 32_000))
    assert sum(batch.header.record_count for batch in large) == 100
    assert max(len(batch.data) for batch in large) <= 1_100_000


def test_a_snapshot_that_was_given_up_is_tried_again_when_it_is_due() -> None:
    node = LoneController(snapshots=often())
    node.no_room = True
    node.run(30)
    tried = len(asked(node))
    assert tried >= 1
    assert node.said("no room")
    assert len(node.log.snapshots()) == 1, "the bootstrap snapshot"
    node.no_room = False
    node.run(30)
    assert len(node.log.snapshots()) > 1


def test_a_node_that_starts_from_its_snapshot_has_the_same_image() -> None:  # SNP-15, SNP-16
    node = LoneController(snapshots=often(retention_bytes=1))
    node.run(60)
    assert node.log.start_offset > 0
    for power_loss in ("synced only", "everything"):
        again = LoneController(node.disk.survivors(power_loss), often(), started_at=node.now)
        again.run(3)
        assert again.node.is_active
        assert again.node.image.features == node.node.image.features
        assert again.node.image.cluster.controllers.keys() == node.node.image.cluster.controllers.keys()
        assert again.log.epoch_starts()[0][1] >= node.log.start_offset
        assert list(again.log.epoch_starts()) == sorted(again.log.epoch_starts())
        assert again.node.meta.replica.voters.ids == (1,), (
            "the voters came from the snapshot: the bootstrap snapshot is gone"
        )


# Retention: SNP-08, SNP-09.


def kept(*each: tuple[int, int]) -> list[Kept]:
    """(size, timestamp) of snapshots at 10, 20, 30, ..."""
    return [
        Kept(OffsetAndEpoch(Offset(10 * n), Epoch(1)), size, at) for n, (size, at) in enumerate(each, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("each", "log_bytes", "limits", "first"),
    [
        ([(50, 0), (50, 0), (50, 0)], 100, (1000, -1), None),
        ([(50, 0), (50, 0), (50, 0)], 100, (249, -1), 20),
        ([(50, 0), (50, 0), (50, 0)], 100, (150, -1), 30),
        ([(50, 0), (50, 0), (50, 0)], 100, (1, -1), 30),
        ([(50, 0)], 5000, (1, 1), None),
        ([], 5000, (1, 1), None),
        ([(50, 0), (50, 900), (50, 950)], 100, (-1, 100), 20),
        ([(50, 0), (50, 0), (50, 950)], 100, (-1, 100), 30),
        ([(50, 0), (50, 0), (50, 0)], 100, (-1, 100), 30),
        ([(50, 901), (50, 950)], 100, (-1, 100), None),
        ([(50, 0), (50, 0)], 1 << 40, (-1, -1), None),
    ],
)
def test_the_log_is_kept_from_the_oldest_snapshot_that_is_neither_too_much_nor_too_old(
    each: list[tuple[int, int]], log_bytes: int, limits: tuple[int, int], first: int | None
) -> None:
    config = SnapshotConfig(retention_bytes=limits[0], retention_ms=limits[1])
    found = first_needed(kept(*each), log_bytes, config, WallClock(1000))
    assert (None if found is None else found.offset) == first, "one always stays"


def test_the_log_begins_at_the_latest_snapshot_when_all_is_too_large() -> None:
    node = LoneController(snapshots=often(retention_bytes=1))
    node.run(60)
    shortened = [effect.snapshot_id for effect in node.seen if isinstance(effect, ShortenLog)]
    assert shortened == [effect.snapshot_id for effect in asked(node)][1:], "the first one has nothing to replace"
    assert node.log.start_offset == shortened[-1].offset == node.node.meta.replica.log.start_offset
    assert node.log.snapshots() == (shortened[-1],)
    names = node.disk.list_directory(node.log.directory)
    assert len([name for name in names if name.endswith(".log")]) <= 3


def test_old_snapshots_go_by_age_though_nothing_new_is_taken() -> None:
    node = LoneController(snapshots=often(retention_ms=60_000))
    node.run(59)
    held = node.log.snapshots()
    assert len(held) > 3
    node.node.upkeep.keeper.config = SnapshotConfig(max_new_bytes=1 << 40, max_interval_ms=0, retention_ms=60_000)
    node.run(130)
    assert node.log.snapshots() == held[-1:]
