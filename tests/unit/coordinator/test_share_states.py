"""The share coordinator's pure part: batches that overlap, who waits for the log, what a log says when it is read."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TypeVar

import pytest

from controller_runtime.coordinator.loading import Unreadable
from controller_runtime.coordinator.share_state import loading, upkeep
from controller_runtime.coordinator.share_state.combining import StateBatch, combined
from controller_runtime.coordinator.share_state.decisions import READ
from controller_runtime.coordinator.share_state.partition import BeginAt, Effects, Gathering, Part, SharePartition
from controller_runtime.coordinator.share_state.records import ShareRecord
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState, ShareUpdate
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch, restamp

pytestmark = pytest.mark.unit

ORDERS = Uuid.of(1, 1)
Unit = TypeVar("Unit")
Result = TypeVar("Result")
NOW = Instant(0.0)
WALL = WallClock(1_000)


class Topic:
    """A log that takes everything; the test says when it is committed."""

    def __init__(self) -> None:
        self.image = MetadataImage.empty()
        self.data = b""
        self.end = 0

    def append(self, _: int, batch: bytes, __: WallClock) -> int | ErrorCode:
        data = bytearray(batch)
        restamp(data, self.end, 0)
        self.data += data
        self.end += decode_batches(bytes(data))[0].header.record_count
        return self.end


def of_offsets(batches: tuple[StateBatch, ...] | list[StateBatch]) -> dict[int, tuple[int, int]]:
    """By offset the largest count, and of those the largest state."""
    found: dict[int, tuple[int, int]] = {}
    for each in batches:
        for offset in range(each.first, each.last + 1):
            found[offset] = max(found.get(offset, (-1, -1)), (each.count, each.state))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_of_each_offset_the_largest_count_and_state_are_kept(seed: int) -> None:
    dice = Random(seed)
    for _ in range(150):
        said = []
        for _ in range(dice.randrange(2, 8)):
            first = dice.randrange(-5, 30)
            said.append(StateBatch(first, first + dice.randrange(-1, 9), dice.choice((0, 2, 4)), dice.randrange(1, 4)))
        kept = combined(said)
        assert of_offsets(kept) == of_offsets(said), said
        for one, other in pairwise(kept):
            assert one.last < other.first, kept
            joins = one.last + 1 == other.first and (one.state, one.count) == (other.state, other.count)
            assert not joins, kept


KEY = ShareKey("g", ORDERS, 0)


def a_partition(**settings: int) -> tuple[SharePartition, Topic]:
    topic = Topic()
    return SharePartition(0, ShareStateSettings(**settings), topic), topic


def begin(partition: SharePartition, key: ShareKey = KEY) -> None:
    state = ShareState(0, 1, 0, 0, 0, WALL, WALL)
    assert partition.store([ShareRecord(key, state)], WALL) is ErrorCode.NONE


def change(partition: SharePartition, key: ShareKey = KEY, *batches: StateBatch) -> None:
    update = ShareUpdate(0, 0, -1, 0, batches)
    assert partition.store([ShareRecord(key, update)], WALL) is ErrorCode.NONE


def asked(partition: SharePartition, number: int) -> Effects:
    """A read of the key."""
    gathering = Gathering(RequestId(number), READ, open=1)
    return partition.when_committed(Part(gathering, KEY, READ.partition(partition=0, state_epoch=number)), NOW)


def code_of(effects: Effects) -> int:
    (effect,) = effects
    assert isinstance(effect, Respond)
    code: int = effect.body.results[0].partitions[0].error_code  # type: ignore[attr-defined]
    return code


def test_what_is_read_waits_until_it_is_committed() -> None:
    partition, topic = a_partition()
    assert code_of(asked(partition, 1)) == ErrorCode.NONE
    begin(partition)
    assert asked(partition, 2) == []
    change(partition)
    assert asked(partition, 3) == []
    assert partition.committed_to(0) == []
    (first,) = partition.committed_to(1)
    assert isinstance(first, Respond)
    assert first.request_id == 2
    assert code_of(partition.committed_to(topic.end)) == ErrorCode.NONE
    assert partition.is_committed


def test_who_waits_is_told_when_it_takes_too_long_and_when_another_leads() -> None:
    partition, _ = a_partition(write_timeout_ms=5_000)
    begin(partition)
    asked(partition, 1)
    assert partition.next_deadline() == 5.0
    assert partition.give_up(Instant(4.9)) == []
    assert code_of(partition.give_up(Instant(5.0))) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    asked(partition, 2)
    assert code_of(partition.resign()) == ErrorCode.NOT_COORDINATOR
    assert partition.store([ShareRecord(KEY, None)], WALL) is ErrorCode.NOT_COORDINATOR


def finished(work: InPieces[Unit, Result]) -> Result:
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def test_a_log_that_is_read_says_what_was_known() -> None:
    partition, topic = a_partition(updates_per_snapshot=3)
    dice = Random(932)
    keys = [ShareKey("g", ORDERS, n) for n in range(4)]
    for step in range(60):
        key = dice.choice(keys)
        if key not in partition.entries:
            begin(partition, key)
        elif dice.random() < 0.1:
            assert partition.store([ShareRecord(key, None)], WALL) is ErrorCode.NONE
        else:
            change(partition, key, StateBatch(step, step + 5, 0, dice.randrange(1, 4)))
    again = SharePartition(0, partition.settings, topic)
    assert finished(loading.replay(again, topic.data, 0)) == topic.end
    assert again.entries == partition.entries
    assert again.last_snapshot == partition.last_snapshot


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"x"),
        (b"\0", b"x"),
        (b"\0\0", b"\0\0"),
        (b"\0\0\xff\xff\xff\xff\xff", b"\0\0"),
        (b"\0\0\2g" + bytes(20) + b"\0", b"\0\7"),
        (b"\0\1\2g" + bytes(20) + b"\0", b"\0\0\0"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(key: bytes | None, value: bytes) -> None:
    data = encode_batch([Record(0, 1, key, value)])
    with pytest.raises(Unreadable, match="offset 0"):
        finished(loading.replay(a_partition()[0], data, 0))


def test_records_of_types_that_nobody_knows_are_passed_over() -> None:
    partition, _ = a_partition()
    data = encode_batch([Record(0, 1, b"\0\7later", b"x")])
    assert finished(loading.replay(partition, data, 0)) == 1
    assert partition.entries == {}


def test_the_log_begins_at_the_oldest_snapshot_when_all_is_committed() -> None:
    partition, topic = a_partition()
    other = ShareKey("g", ORDERS, 1)
    for key in (KEY, other, KEY):
        begin(partition, key)
    change(partition)
    assert finished(upkeep.prune(partition, NOW)) is None
    assert partition.committed_to(topic.end - 1) == []
    assert partition.committed_to(topic.end) == [BeginAt(0, 1)]
    finished(upkeep.forget_topics(partition, {ORDERS}, WALL))
    assert partition.entries == {}
    finished(upkeep.prune(partition, NOW))
    assert partition.committed_to(topic.end) == [BeginAt(0, topic.end - 1)]


def test_what_nobody_changes_gets_a_snapshot_so_that_the_log_can_begin_later() -> None:
    partition, topic = a_partition(cold_interval_ms=1_000)
    begin(partition)
    change(partition, KEY, StateBatch(3, 4, 2, 1))
    finished(upkeep.snapshot_cold(partition, WallClock(WALL + 999)))
    assert topic.end == 2
    finished(upkeep.snapshot_cold(partition, WallClock(WALL + 1_000)))
    assert topic.end == 3
    found = partition.entries[KEY]
    assert (found.snapshot_offset, found.state.snapshot_epoch) == (2, 1)
    assert found.state.batches == (StateBatch(3, 4, 2, 1),)
