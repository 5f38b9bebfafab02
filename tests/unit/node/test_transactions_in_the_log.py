"""Metadata transactions (KIP-868) as whoever follows the log meets them: in one batch, over several, two in one.

The lone controller writes them as another release's might; a reader that comes late follows the log of its disk.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.quorum.faults import UnreadableLog
from controller_runtime.node.quorum.image_feed import ImageFeed
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.snapshot_batches import stream_batches
from support.nodes.lone_controller import LoneController

pytestmark = pytest.mark.unit

BEGIN, END, ABORT = BeginTransactionRecord(name="x"), EndTransactionRecord(), AbortTransactionRecord(reason="x")


def value(number: int) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="1", name=f"value.{number}", value="x")


def put(controller: LoneController, *records: Message) -> Offset:
    """One batch, committed. Where it begins."""
    role = controller.controller._role
    assert isinstance(role, Active)
    begins = role.writer.next_offset
    versioned: tuple[VersionedRecord, ...] = tuple((record, 0) for record in records)
    role.writer.write(versioned, controller.now, controller.wall)
    controller.run(0.2)
    return begins


def follower(controller: LoneController) -> ImageFeed:
    feed = ImageFeed(controller.node.meta, controller.log)
    read(feed)
    return feed


def read(feed: ImageFeed) -> None:
    while feed.advance():
        pass


def values(image: MetadataImage) -> set[int]:
    return {int(name.partition(".")[2]) for name in image.configs.of(4, "1") if name.startswith("value.")}


@pytest.fixture
def controller() -> LoneController:
    made = LoneController()
    made.run(5)
    return made


def test_a_transaction_over_several_batches_is_seen_as_one_when_it_ends(controller: LoneController) -> None:
    """IMG-05, QC-11: until then the image is the one from before it, and ends where it begins."""
    feed = follower(controller)
    begins = put(controller, value(0), BEGIN, value(1)) + 1
    for number in (2, 3):
        read(feed)
        assert (values(feed.image.stable), feed.stable_position) == ({0}, begins)
        assert feed.position > begins
        put(controller, value(number))
    put(controller, value(4), END, value(5))
    read(feed)
    assert values(feed.image.stable) == {0, 1, 2, 3, 4, 5}
    assert feed.stable_position == feed.position == controller.node.meta.high_watermark


def test_an_aborted_transaction_was_never_there(controller: LoneController) -> None:
    """IMG-05."""
    feed = follower(controller)
    put(controller, value(0), BEGIN, value(1))
    put(controller, value(2), ABORT, value(3))
    read(feed)
    assert (values(feed.image), feed.image.transaction) == ({0, 3}, None)
    assert feed.stable_position == feed.position


def test_two_transactions_may_share_a_batch(controller: LoneController) -> None:
    """IMG-05: the second one is open at the end of it, and that is where the image ends."""
    feed = follower(controller)
    begins = put(controller, BEGIN, value(0), END, BEGIN, value(1)) + 3
    read(feed)
    assert (values(feed.image.stable), feed.stable_position) == ({0}, begins)
    put(controller, END)
    read(feed)
    assert values(feed.image.stable) == {0, 1}


@pytest.mark.parametrize(
    "records", [(BEGIN, BEGIN), (END,), (ABORT,), (BEGIN, END, END), (BEGIN, ABORT, ABORT)], ids=str
)
def test_what_cannot_be_in_a_log_is_never_written(controller: LoneController, records: tuple[Message, ...]) -> None:
    """QC-10: nested, or an end without a begin."""
    with pytest.raises(Exception, match="transaction"):
        put(controller, *records)


def test_no_snapshot_is_taken_inside_a_transaction_and_one_when_it_ends() -> None:
    """IMG-06, QC-10."""
    controller = LoneController(snapshots=SnapshotConfig(max_interval_ms=2000))
    controller.run(5)
    begins = put(controller, BEGIN, value(1))
    taken = controller.node.meta.replica.log.latest_snapshot
    controller.run(10)
    assert controller.node.meta.replica.log.latest_snapshot == taken
    assert controller.node.quorum.committed()[0].transaction is not None
    put(controller, END)
    controller.run(5)
    latest = controller.node.meta.replica.log.latest_snapshot
    assert latest is not None
    assert latest.offset > begins
    loaded = follower(controller)
    assert (values(loaded.image), loaded.image.transaction) == ({1}, None)


@pytest.mark.parametrize("record", [BEGIN, END, ABORT], ids=str)
def test_a_snapshot_with_a_transaction_in_it_stops_the_node(record: Message) -> None:
    """QC-10, QC-04: Kafka refuses the record by these words."""
    controller = LoneController()
    controller.run(5)
    end = controller.node.meta.high_watermark
    at = OffsetAndEpoch(end, controller.node.meta.replica.log.epoch_before(end))
    records = (FeatureLevelRecord(name="metadata.version", feature_level=30), record)
    batches = stream_batches(
        [SnapshotHeaderRecord()], (encode_record(each, 0) for each in records), at.epoch, WallClock(0)
    )
    write = controller.log.begin_snapshot(at)
    assert write is not None
    controller.log.snapshot_written(write, write.perform(batches))
    controller.node.meta.arrived_snapshot = at
    feed = ImageFeed(controller.node.meta, controller.log)
    with pytest.raises(UnreadableLog, match="cannot appear within a snapshot"):
        read(feed)
