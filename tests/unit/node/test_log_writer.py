"""Decisions become batches; images wait for their commit."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant, Offset, Uuid, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import ReplayError
from controller_runtime.node.active import log_writer
from controller_runtime.node.active.log_writer import (
    BATCH_OVERHEAD,
    MAX_ATOMIC_BYTES,
    RECORD_OVERHEAD,
    DecisionTooLarge,
    LogWriter,
    check_fits,
)
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import decode_batches, encode_values

pytestmark = pytest.mark.unit

NOW = Instant(5.0)


def topic(n: int) -> tuple[VersionedRecord, ...]:
    return ((TopicRecord(name=f"topic-{n}", topic_id=Uuid.of(9, n)), 0),)


def setting(value: str, name: str = "retention.ms") -> tuple[VersionedRecord, ...]:
    return ((ConfigRecord(resource_type=2, resource_name="t", name=name, value=value), 0),)


def writer() -> LogWriter:
    return LogWriter(Epoch(3), MetadataImage.empty(), Offset(10))


def test_decisions_until_the_batch_is_taken_share_it() -> None:
    pen = writer()
    assert pen.write(topic(1), NOW, WallClock(7)) == 11
    assert pen.write(topic(2), NOW, WallClock(8)) == 12
    (batch,) = pen.take_batches()
    assert (batch.base_offset, batch.end_offset, batch.epoch) == (10, 12, 3)
    (decoded,) = decode_batches(batch.data)
    assert decoded.header.partition_leader_epoch == 3
    assert [(r.offset, r.timestamp, decode_record(r.value or b"")[0].name) for r in decoded.records] == [  # type: ignore[attr-defined]
        (10, 7, "topic-1"),
        (11, 7, "topic-2"),
    ]
    assert not pen.has_work


def test_the_newest_image_has_what_is_not_committed_and_the_committed_one_has_not() -> None:
    pen = writer()
    pen.write(topic(1), NOW, WallClock(0))
    pen.take_batches()
    pen.write(topic(2), NOW, WallClock(0))
    pen.take_batches()
    assert pen.image.topics.named("topic-2") is not None
    assert pen.committed_image.topics.named("topic-1") is None
    pen.commit(Offset(11))
    assert pen.committed_image.topics.named("topic-1") is not None
    assert pen.committed_image.topics.named("topic-2") is None
    pen.commit(Offset(12))
    assert pen.committed_image == pen.image


def test_a_decision_that_does_not_fit_begins_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "MAX_BATCH_BYTES", 100)
    pen = writer()
    for n in range(8):
        pen.write(topic(n), NOW, WallClock(0))
    assert pen.is_full
    batches = pen.take_batches()
    assert len(batches) > 2
    assert [b.base_offset for b in batches[1:]] == [b.end_offset for b in batches[:-1]]
    assert sum(b.end_offset - b.base_offset for b in batches) == 8


def test_a_decision_is_never_split_over_two_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "MAX_BATCH_BYTES", 100)
    pen = writer()
    pen.write(topic(1), NOW, WallClock(0))
    pen.write(tuple(record for n in range(2, 12) for record in topic(n)), NOW, WallClock(0))
    assert [b.end_offset - b.base_offset for b in pen.take_batches()] == [1, 10]


def test_offsets_go_on_after_records_of_consensus_itself() -> None:
    pen = writer()
    pen.skip_to(Offset(13))
    assert pen.write(topic(1), NOW, WallClock(0)) == 14
    with pytest.raises(AssertionError, match="written first"):
        pen.skip_to(Offset(20))


def test_a_decision_that_need_not_be_whole_is_split_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """QC-06, KIP-868: only atomic decisions are bound to one batch."""
    monkeypatch.setattr(log_writer, "MAX_BATCH_BYTES", 100)
    pen = writer()
    pen.write(tuple(record for n in range(8) for record in topic(n)), NOW, WallClock(0), atomic=False)
    batches = pen.take_batches()
    assert len(batches) > 2
    assert [b.base_offset for b in batches[1:]] == [b.end_offset for b in batches[:-1]]
    names = [decode_record(r.value or b"")[0].name for b in batches for d in decode_batches(b.data) for r in d.records]  # type: ignore[attr-defined]
    assert names == [f"topic-{n}" for n in range(8)]
    pen.commit(batches[0].end_offset)
    assert pen.committed_image.topics.named("topic-0") is not None
    assert pen.committed_image.topics.named("topic-7") is None


def test_what_may_be_split_fits_into_what_one_fetch_takes() -> None:
    """`controller.quorum.fetch.max.bytes`, or the segment if it is smaller: the whole batch, header and frames
    included.
    """
    pen = LogWriter(Epoch(3), MetadataImage.empty(), Offset(10), max_batch_bytes=400)
    pen.write(tuple(record for n in range(40) for record in topic(n)), NOW, WallClock(0), atomic=False)
    for n in range(40, 60):
        pen.write(topic(n), NOW, WallClock(0))
    batches = pen.take_batches()
    assert max(len(b.data) for b in batches) <= 400
    assert len(batches) < 20, "many decisions share a batch"
    assert sum(b.end_offset - b.base_offset for b in batches) == 60


def test_a_decision_that_must_be_whole_may_be_larger_than_a_fetch_up_to_kafkas_limit_of_a_batch() -> None:
    """KafkaRaftClient.MAX_BATCH_SIZE_BYTES, 8 MiB: larger is an error of the request, and nothing of it is done."""
    value = "v" * 32_000
    large = tuple(record for n in range(240) for record in setting(value, f"a{n}"))
    pen = LogWriter(Epoch(3), MetadataImage.empty(), Offset(10), max_batch_bytes=1000)
    assert pen.write(large, NOW, WallClock(0)) == 250
    (batch,) = pen.take_batches()
    assert 7_600_000 < len(batch.data) <= MAX_ATOMIC_BYTES
    image = pen.image
    with pytest.raises(DecisionTooLarge, match=r"size of 8\d{6} exceeds the maximum allowed batch size of 8388608"):
        pen.write((*large, *large[:40]), NOW, WallClock(0))
    assert pen.image is image
    assert pen.next_offset == 250
    assert not pen.has_work


def test_what_fits_is_no_larger_than_kafkas_limit_to_the_byte() -> None:
    value = bytes(MAX_ATOMIC_BYTES - RECORD_OVERHEAD - BATCH_OVERHEAD)
    check_fits(1, len(value))
    with pytest.raises(DecisionTooLarge):
        check_fits(1, len(value) + 1)
    assert len(encode_values([value], Offset(0), Epoch(1), WallClock(0))) <= MAX_ATOMIC_BYTES


def test_decisions_of_an_open_batch_see_each_other_and_frozen_images_do_not_see_them() -> None:
    pen = writer()
    pen.write(setting("a"), NOW, WallClock(0))
    pen.take_batches()
    pen.commit(Offset(11))
    for value in ("b", "c"):
        pen.write(setting(value), NOW, WallClock(0))
        assert pen.image.configs.of(2, "t")["retention.ms"] == value
        assert pen.committed_image.configs.of(2, "t")["retention.ms"] == "a"
    pen.take_batches()
    pen.commit(Offset(13))
    assert pen.committed_image.configs.of(2, "t")["retention.ms"] == "c"


def test_the_linger_is_counted_from_the_first_decision_that_waits() -> None:
    """FET-19: and with nothing that waits there is nothing to wake up for."""
    pen = LogWriter(Epoch(3), MetadataImage.empty(), Offset(10), linger_s=0.25)
    pen.write(topic(1), NOW, WallClock(0))
    pen.write(topic(2), Instant(NOW + 0.1), WallClock(0))
    assert pen.linger_until == NOW + 0.25
    pen.take_batches()
    assert pen.linger_until is None


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("closed", [True, False])
def test_a_decision_that_cannot_be_replayed_leaves_the_pen_as_it_was(*, atomic: bool, closed: bool) -> None:
    """Its first record has changed the open image already when the second fails."""
    pen, other = writer(), writer()
    for each in (pen, other):
        each.write(topic(1), NOW, WallClock(7))
        if closed:
            each.take_batches()
    bad = (*topic(2), (RemoveTopicRecord(topic_id=Uuid.of(9, 99)), 0))
    with pytest.raises(ReplayError):
        pen.write(bad, NOW, WallClock(8), atomic=atomic)
    assert (pen.next_offset, pen.has_work, pen.linger_until) == (other.next_offset, other.has_work, other.linger_until)
    assert pen.image == other.image
    for each in (pen, other):
        each.write(topic(3), NOW, WallClock(9))
    assert pen.take_batches() == other.take_batches()
    assert pen.image == other.image


def test_a_decision_over_several_batches_is_taken_back_from_all_of_them() -> None:
    pen, other = LogWriter(Epoch(3), MetadataImage.empty(), Offset(10), max_batch_bytes=100), writer()
    for each in (pen, other):
        each.write(topic(1), NOW, WallClock(7))
    bad = (*(one for n in range(2, 20) for one in topic(n)), (RemoveTopicRecord(topic_id=Uuid.of(9, 99)), 0))
    with pytest.raises(ReplayError):
        pen.write(bad, NOW, WallClock(8), atomic=False)
    assert pen.image == other.image
    assert pen.take_batches() == other.take_batches()
    pen.commit(Offset(11))
    assert pen.committed_image == other.image


def test_batches_that_are_not_appended_stay() -> None:
    pen = writer()
    pen.write(topic(1), NOW, WallClock(7))

    def fail() -> None:
        with pen.handing_over() as batches:
            assert len(batches) == 1
            raise MemoryError

    with pytest.raises(MemoryError):
        fail()
    assert [(one.base_offset, one.end_offset) for one in pen.take_batches()] == [(10, 11)]
