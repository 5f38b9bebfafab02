"""What a follower makes of its leader's answers: where it cuts, what it takes, what it does not believe."""

from __future__ import annotations

import pytest

from controller_runtime.broker.partition import OpenLog
from controller_runtime.broker.replication.follower import Cut, Follower, Take
from controller_runtime.broker.replication.truncation import cut_at, last_epoch
from controller_runtime.identifiers import PartitionId, Uuid
from controller_runtime.protocol.messages.fetch_response import EpochEndOffset, PartitionData
from controller_runtime.protocol.record_batch import CorruptBatch, Record, encode_batch

pytestmark = pytest.mark.unit

STARTS = [(1, 0), (3, 10), (6, 20)]
END = 30


@pytest.mark.parametrize(
    ("epoch", "end", "expected"),
    [
        (6, 25, 25),  # the leader's part of the last epoch ended earlier
        (6, 40, 30),  # it has more than we
        (5, 18, 20),  # the leader knows an epoch that we do not: what is of a later one goes, and it is asked again
        (4, 12, 20),
        (3, 15, 15),
        (3, 25, 20),
        (0, 7, 7),  # we know no epoch that old
        (0, 40, 30),
    ],
)
def test_a_log_is_cut_where_it_parts_from_the_leaders(epoch: int, end: int, expected: int) -> None:
    """FLW-02, KAFKA-6361: the high watermark is not asked (KAFKA-1211)."""
    assert cut_at(STARTS, END, epoch, end) == expected


def test_an_epoch_that_wrote_nothing_is_nobodys_last() -> None:
    """LOG-17, KAFKA-10706."""
    assert [last_epoch([(1, 0), (4, 10)], end) for end in (10, 11, 0)] == [1, 4, -1]


def follower(end: int = 0, epoch: int = 3, starts: tuple[tuple[int, int], ...] = ()) -> Follower:
    log = OpenLog(PartitionId(Uuid.of(1, 1), 0), "stock", 0, end, end, 0, list(starts))
    made = Follower(log)
    made.follow(12, epoch)
    return made


def batch(offset: int, epoch: int = 3, count: int = 1, producer: int = -1, sequence: int = -1) -> bytes:
    records = [Record(offset + n, 1000, None, b"value") for n in range(count)]
    return encode_batch(
        records,
        base_offset=offset,
        partition_leader_epoch=epoch,
        producer_id=producer,
        producer_epoch=-1 if producer < 0 else 3,
        base_sequence=sequence,
    )


def taken(found: Cut | Take | None) -> tuple[int, int]:
    assert isinstance(found, Take), found
    return len(found.headers), found.end_offset


def test_what_the_leader_sent_is_taken_as_it_is_and_the_high_watermark_waits_for_the_disk() -> None:
    """FLW-16, LOG-28, FLW-12."""
    made = follower()
    data = batch(0, count=2) + batch(2)
    found = made.judge(PartitionData(records=data + batch(3)[:-5], high_watermark=3, log_start_offset=1))
    assert isinstance(found, Take)
    assert (found.batches, found.end_offset) == (data, 3), "a batch that is cut off comes whole another time"
    made.take(found)
    log = made.log
    assert (log.end_offset, log.high_watermark, made.is_settled, log.epoch_starts) == (3, 0, False, [(3, 0)])
    log.written(3)
    assert (made.settle(), log.high_watermark, log.start_offset) == (1, 3, 1)


def test_batches_of_a_later_epoch_than_was_asked_for_are_left_with_all_that_follows() -> None:
    """FLW-08, KAFKA-18723."""
    data = batch(0, 2) + batch(1, 3) + batch(2, 4) + batch(3, 3)
    assert taken(follower(epoch=3).judge(PartitionData(records=data))) == (2, 2)


def test_sequences_are_not_checked() -> None:
    """FLW-18, KAFKA-6003: the leader has."""
    data = batch(0, producer=7, sequence=40) + batch(1, producer=7, sequence=90)
    made = follower()
    found = made.judge(PartitionData(records=data))
    assert isinstance(found, Take)
    made.take(found)
    assert made.log.producers[7].last_sequence == 90


@pytest.mark.parametrize(
    "records",
    [batch(4)[:-1] + b"?", batch(4)[:16] + b"\x01" + batch(4)[17:], batch(5) + batch(4), batch(3)],
    ids=["checksum", "magic", "offsets go back", "offset below the end"],
)
def test_what_cannot_be_is_not_taken(records: bytes) -> None:
    """FLW-09."""
    made = follower(end=4, starts=((3, 0),))
    with pytest.raises(CorruptBatch):
        made.judge(PartitionData(records=records))
    assert made.log.end_offset == 4


def test_a_diverging_answer_brings_nothing_else() -> None:
    """FLW-03: neither data nor a high watermark."""
    made = follower(end=30, epoch=7, starts=tuple(STARTS))
    diverging = EpochEndOffset(epoch=3, end_offset=15)
    found = made.judge(PartitionData(diverging_epoch=diverging, records=batch(30, 7), high_watermark=30))
    assert found == Cut(15)
    assert made.leaders_high_watermark == 0
    assert made.judge(PartitionData(diverging_epoch=EpochEndOffset(epoch=0, end_offset=-5))) == Cut(0), "a liar"


def test_an_answer_is_about_the_log_and_the_epoch_that_it_was_asked_for() -> None:
    """FLW-07, KAFKA-18991."""
    made = follower(end=4, starts=((3, 0),))
    asked = made.position()
    assert (asked.offset, asked.last_epoch, made.is_about(asked)) == (4, 3, True)
    made.follow(13, 4)
    assert not made.is_about(asked)
    made.follow(12, 3)
    made.log.end_offset = 5
    assert not made.is_about(asked), "it is being written"
    made.log.written(5)
    assert not made.is_about(asked)


def test_a_log_that_knows_no_epochs_keeps_what_consumers_could_see() -> None:
    """FLW-11."""
    made = follower(end=9)
    made.log.high_watermark = 4
    assert made.first_cut == 4
    assert follower(end=9, starts=((1, 0),)).first_cut is None


def test_an_empty_log_begins_with_the_batch_that_its_beginning_lies_in() -> None:
    """FLW-15: records were deleted at the leader in the middle of a batch."""
    made = follower(end=5)
    made.log.start_offset = 5
    found = made.judge(PartitionData(records=batch(3, count=4), log_start_offset=5, high_watermark=7))
    assert isinstance(found, Take)
    assert (found.restart, found.end_offset) == (3, 7)
    made.take(found)
    made.log.written(7)
    assert (made.settle(), made.log.start_offset, made.log.high_watermark) == (5, 5, 7)
