"""Partitions that groups share, as their leader decides: what is acquired, said, released, expired, kept (CGP-21)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from controller_runtime.coordinator.share_partitions.aborted import without
from controller_runtime.coordinator.share_partitions.acknowledging import Refusal, Said, acknowledge, expire, release
from controller_runtime.coordinator.share_partitions.acquiring import Read, Wish, acquire
from controller_runtime.coordinator.share_partitions.judging import read_batches
from controller_runtime.coordinator.share_partitions.partition import Change, SharePartition
from controller_runtime.coordinator.share_partitions.reads import Acquired, ReadBatch
from controller_runtime.coordinator.share_partitions.sessions import Member, ShareSessions
from controller_runtime.coordinator.share_partitions.settings import Limits, ShareSettings, duration_ms, limits_of
from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.identifiers import Instant, Uuid
from controller_runtime.parts.events import ConnectionId
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_acknowledge_request import AcknowledgementBatch
from controller_runtime.values import replace

pytestmark = pytest.mark.unit

LIMITS = Limits(max_record_locks=200, delivery_count_limit=5, record_lock_ms=30_000)
START = Instant(0.0)
LATE = Instant(30.0)
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def shared(*batches: tuple[int, int, int, int], start: int = 0, limits: Limits = LIMITS) -> SharePartition:
    partition = SharePartition(limits)
    assert partition.begin(start, 1, [StateBatch(*each) for each in batches]) == ""
    return partition


def read(offset: int, *ends: int, aborted: tuple[tuple[int, int], ...] = ()) -> Read:
    """Batches from `offset` on, each to one of these ends."""
    bases = (offset, *(end + 1 for end in ends))
    return Read(offset, [ReadBatch(base, end, 100) for base, end in zip(bases, ends, strict=False)], aborted)


def take(
    partition: SharePartition,
    member: str,
    *ends: int,
    most: int = 1000,
    size: int = 500,
    exactly: bool = False,
    now: Instant = START,
) -> list[tuple[int, int, int]]:
    wish = Wish(member, most, size, exactly)
    found, count = acquire(partition, wish, read(partition.next_offset(), *ends), now)
    assert count == sum(each.last - each.first + 1 for each in found)
    return [tuple(each) for each in found]  # type: ignore[misc]


def say(
    partition: SharePartition, member: str, first: int, last: int, *types: int, now: Instant = START
) -> list[Change]:
    found = acknowledge(partition, member, [Said(first, last, types)], now)
    assert not isinstance(found, Refusal), found
    return found


def told(changes: Sequence[Change]) -> list[tuple[int, int, int, int]]:
    return [(each.batch.first, each.batch.last, each.batch.state, each.batch.count) for each in changes]


def done(partition: SharePartition, changes: list[Change], *, is_kept: bool = True) -> None:
    partition.settle(changes, is_kept=is_kept)


def test_records_are_acquired_accepted_and_the_start_moves_when_that_is_kept() -> None:
    partition = shared()
    assert take(partition, "a", 9) == [(0, 9, 1)]
    assert partition.next_offset() == 10
    changes = say(partition, "a", 0, 9, ACCEPT)
    assert told(changes) == [(0, 9, 2, 1)]
    assert (partition.start, partition.complete_count) == (0, 10)
    done(partition, changes)
    assert (partition.start, partition.end, partition.complete_count) == (10, 10, 0)
    assert partition.locks.next_deadline() is None


def test_what_is_not_kept_is_acquired_still_or_released_if_its_time_is_over() -> None:
    partition = shared()
    take(partition, "a", 9)
    done(partition, say(partition, "a", 0, 9, ACCEPT), is_kept=False)
    assert (partition.start, partition.complete_count, partition.next_offset()) == (0, 0, 10)
    changes = say(partition, "a", 0, 9, REJECT)
    assert expire(partition, LATE) == [], "it is being changed"
    done(partition, changes, is_kept=False)
    assert (partition.next_offset(), partition.complete_count) == (0, 0)
    assert take(partition, "b", 9) == [(0, 9, 2)]


def test_a_lock_that_ends_makes_records_available_until_they_were_delivered_often_enough() -> None:
    partition = shared(limits=replace(LIMITS, delivery_count_limit=2))
    now = 0.0
    for count in (1, 2):
        assert take(partition, "a", 0, now=Instant(now)) == [(0, 0, count)]
        assert partition.locks.next_deadline() == now + 30.0
        now += 30.0
        assert [each.state for each in expire(partition, Instant(now))] == [0 if count == 1 else 4]
    assert partition.complete_count == 1
    assert partition.advance()
    assert (partition.start, partition.next_offset()) == (1, 1)


def test_a_member_says_something_else_of_each_record_and_its_neighbours_keep_their_time() -> None:
    partition = shared()
    take(partition, "a", 3)
    changes = say(partition, "a", 0, 2, ACCEPT, RELEASE, 0, now=Instant(10.0))
    assert told(changes) == [(0, 0, 2, 1), (1, 1, 0, 1), (2, 2, 4, 1)]
    done(partition, changes)
    assert (partition.start, partition.next_offset(), partition.complete_count) == (1, 1, 1)
    assert partition.locks.next_deadline() == 30.0
    assert [(each.first, each.last) for each in expire(partition, LATE)] == [(3, 3)]
    assert take(partition, "b", 3) == [(1, 1, 2), (3, 3, 2)]


@pytest.mark.parametrize(
    ("member", "first", "last", "code"),
    [
        ("b", 10, 19, ErrorCode.INVALID_RECORD_STATE),
        ("a", 10, 10, ErrorCode.INVALID_RECORD_STATE),
        ("a", 20, 25, ErrorCode.INVALID_REQUEST),
        ("a", 10, (1 << 63) - 1, ErrorCode.INVALID_REQUEST),
        ("a", 12, 25, ErrorCode.INVALID_REQUEST),
    ],
)
def test_who_says_something_of_what_it_has_not_is_refused_and_nothing_changes(
    member: str, first: int, last: int, code: ErrorCode
) -> None:
    partition = shared(start=10)
    take(partition, "a", 19)
    said = [Said(10, 11, (ACCEPT,)), Said(first, last, (ACCEPT,))]
    found = acknowledge(partition, member, said, START)
    assert isinstance(found, Refusal)
    assert found.error == code
    assert (partition.complete_count, partition.start) == (0, 10)
    again = told(say(partition, "a", 10, 19, ACCEPT))
    assert [(offset, 2, 1) for each in again for offset in range(each[0], each[1] + 1)] == [
        (offset, 2, 1) for offset in range(10, 20)
    ]


def test_what_is_said_twice_is_refused_the_second_time() -> None:
    partition = shared()
    take(partition, "a", 9)
    changes = say(partition, "a", 0, 9, ACCEPT)
    for _ in range(2):
        found = acknowledge(partition, "a", [Said(0, 9, (ACCEPT,))], START)
        assert isinstance(found, Refusal)
        assert found.error == ErrorCode.INVALID_RECORD_STATE
    done(partition, changes)
    assert acknowledge(partition, "a", [Said(0, 9, (ACCEPT,))], START) == [], "before the start all is done with"


def test_renewal_gives_more_time_and_keeps_nothing() -> None:
    partition = shared()
    take(partition, "a", 9)
    assert say(partition, "a", 0, 9, RENEW, now=Instant(20.0)) == []
    assert say(partition, "a", 0, 0, RENEW, now=Instant(25.0)) == []
    assert expire(partition, LATE) == []
    assert [(each.first, each.last) for each in expire(partition, Instant(50.0))] == [(n, n) for n in range(1, 10)]
    partition.limits = replace(LIMITS, renews=False)
    refused = acknowledge(partition, "a", [Said(0, 0, (RENEW,))], START)
    assert isinstance(refused, Refusal)


def test_a_member_that_goes_leaves_what_it_had_and_nothing_else() -> None:
    partition = shared()
    take(partition, "a", 4)
    take(partition, "b", 9)
    done(partition, say(partition, "a", 0, 1, ACCEPT))
    changes = release(partition, "a")
    assert told(changes) == [(2, 2, 0, 1), (3, 3, 0, 1), (4, 4, 0, 1)]
    assert take(partition, "c", 14) == [(10, 14, 1)], "not before it is kept"
    done(partition, changes)
    assert take(partition, "c", 4) == [(2, 4, 2)]


def test_batches_are_taken_whole_up_to_about_what_is_wanted_and_exactly_if_that_is_wanted() -> None:
    assert take(shared(), "a", 9, 19, 29, most=12) == [(0, 19, 1)]
    assert take(shared(), "a", 9, 19, 29, size=10) == [(0, 9, 1), (10, 19, 1), (20, 29, 1)]
    partition = shared()
    assert take(partition, "a", 9, 19, most=12, exactly=True) == [(0, 11, 1)]
    assert partition.next_offset() == 12
    assert take(partition, "b", 19, most=3, exactly=True) == [(12, 14, 1)]
    assert take(partition, "b", 19) == [(15, 19, 1)]


def test_no_more_than_so_many_records_are_in_flight() -> None:
    partition = shared(limits=replace(LIMITS, max_record_locks=100))
    assert take(partition, "a", 59, 119, 179) == [(0, 119, 1)]
    assert not partition.has_room
    assert take(partition, "a", 179) == []
    done(partition, say(partition, "a", 40, 40, RELEASE))
    assert partition.has_room
    assert partition.next_offset() == 40
    assert take(partition, "b", 119, 179) == [(40, 40, 2)]


def test_what_was_delivered_often_comes_alone() -> None:
    partition, now = shared(), 0.0
    counts = []
    for _ in range(8):
        counts.append(take(partition, "a", 7, now=Instant(now)))
        now += 30.0
        expire(partition, Instant(now))
    assert counts[:4] == [[(0, 7, 1)], [(0, 7, 2)], [(0, 7, 3)], [(0, 3, 4)]]
    assert counts[4:] == [[(0, 0, 5)], [(1, 1, 5)], [(2, 2, 5)], [(3, 3, 5)]]


def test_a_leader_that_follows_reads_what_was_kept_and_what_nobody_knows_of() -> None:
    partition = shared((10, 14, 2, 1), (20, 24, 0, 3), (25, 29, 4, 2), start=5)
    assert (partition.start, partition.end, partition.complete_count, partition.next_offset()) == (5, 29, 10, 5)
    assert take(partition, "a", 29) == [(5, 9, 1), (15, 19, 1)], "what was delivered three times comes alone"
    done(partition, say(partition, "a", 5, 9, ACCEPT))
    assert (partition.start, partition.complete_count, partition.next_offset()) == (15, 5, 20)
    assert take(partition, "a", 29) == [(20, 21, 4)]


@pytest.mark.parametrize(
    "batches", [[(3, 5, 2, 1)], [(10, 9, 2, 1)], [(10, 12, 0, 1), (12, 14, 0, 1)], [(10, 1 << 60, 0, 1)]]
)
def test_a_state_that_cannot_be_is_refused(batches: list[tuple[int, int, int, int]]) -> None:
    partition = SharePartition(LIMITS)
    assert partition.begin(7, 1, [StateBatch(*each) for each in batches]) != ""


def test_the_log_begins_later_than_what_is_in_flight() -> None:
    partition = shared()
    take(partition, "a", 4)
    take(partition, "b", 9)
    done(partition, say(partition, "a", 2, 4, RELEASE))
    done(partition, say(partition, "b", 5, 5, REJECT))
    assert partition.complete_count == 1
    partition.log_begins_at(7)
    assert (partition.start, partition.end, partition.complete_count, partition.next_offset()) == (7, 9, 0, 10)
    assert told(release(partition, "b")) == [(6, 6, 4, 1), (7, 7, 0, 1), (8, 8, 0, 1), (9, 9, 0, 1)]
    partition.log_begins_at(50)
    assert (partition.start, partition.end, partition.next_offset()) == (50, 50, 50)


def test_records_of_aborted_transactions_go_to_nobody() -> None:
    partition = shared()
    batches = [
        ReadBatch(0, 4, 1),
        ReadBatch(5, 9, 1, producer_id=7, is_transactional=True),
        ReadBatch(10, 14, 1, producer_id=8, is_transactional=True),
        ReadBatch(15, 15, 1, producer_id=7, is_transactional=True, aborts=True),
        ReadBatch(16, 19, 1, producer_id=7, is_transactional=True),
    ]
    found, count = acquire(partition, Wish("a", 100, 500), Read(0, batches, ((7, 5),)), START)
    assert (found, count) == ([Acquired(0, 4, 1), Acquired(10, 19, 1)], 15)
    assert partition.complete_count == 5
    assert without([Acquired(0, 9, 1)], [ReadBatch(0, 3, 1), ReadBatch(8, 12, 1)]) == [Acquired(4, 7, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_members_do_each_record_is_with_one_of_them_and_in_the_end_all_are_done_with(seed: int) -> None:
    dice = Random(seed)
    partition, now = shared(limits=replace(LIMITS, max_record_locks=100)), 0.0
    end_of_log, held = 300, dict[int, str]()
    for step in range(1600):
        now += dice.choice((0.0, 0.1, 3.0))
        for each in expire(partition, Instant(now)):
            for offset in range(each.first, each.last + 1):
                held.pop(offset, None)
        partition.advance()
        member = dice.choice("abc")
        kind = dice.random() if step < 1000 else 0.5 * dice.random()
        if kind < 0.3 and partition.has_room and partition.next_offset() < end_of_log:
            base = partition.next_offset()
            base -= base % 10
            ends = range(base + 9, min(base + 40, end_of_log), 10)
            wish = Wish(member, dice.randrange(1, 40), 10, dice.random() < 0.3)
            batches = [ReadBatch(each - 9, each, 1) for each in ends]
            for found in acquire(partition, wish, Read(partition.next_offset(), batches), Instant(now))[0]:
                for offset in range(found.first, found.last + 1):
                    assert offset not in held, (offset, held[offset], member)
                    held[offset] = member
        elif kind < 0.9 and held:
            offset = dice.choice(list(held))
            word = ACCEPT if step >= 1000 else dice.choice((ACCEPT, ACCEPT, RELEASE, REJECT, 0))
            found_ = acknowledge(partition, held[offset], [Said(offset, offset, (word,))], Instant(now))
            assert not isinstance(found_, Refusal), (offset, found_)
            is_kept = step >= 1000 or dice.random() < 0.8
            if is_kept and found_:
                del held[offset]
            partition.settle(found_, is_kept=is_kept)
        elif held:
            partition.settle(release(partition, member), is_kept=True)
            held = {offset: whose for offset, whose in held.items() if whose != member}
        known = [held_ for batch in partition.window.all() for held_ in (batch.each or {0: batch.whole}).values()]
        complete = sum(
            partition.counted(batch.first, batch.last) if batch.whole.state.is_terminal else 0
            for batch in partition.window.all()
            if batch.each is None
        ) + sum(
            offset >= partition.start and one.state.is_terminal
            for batch in partition.window.all()
            for offset, one in (batch.each or {}).items()
        )
        assert partition.complete_count == complete, step
        assert all(one.lock is not None for one in known if one.state == 1), step
    assert partition.start == end_of_log


def all_of(work: InPieces[object, tuple[Said, ...] | None]) -> tuple[Said, ...] | None:
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("batches", "is_right"),
    [
        ([(0, 9, (1,))], True),
        ([(0, 9, (1,) * 10), (10, 10, (0,))], True),
        ([(0, 5, (1,)), (5, 9, (2,))], True),
        ([(0, 5, (1,)), (4, 9, (2,))], False),
        ([(9, 0, (1,))], False),
        ([(0, 9, (1,) * 9)], False),
        ([(0, 9, ())], False),
        ([(0, 0, (4,))], False),
        ([(0, 0, (-1,))], False),
        ([(-2, -1, (1,))], False),
        ([(0, 99_999, (1,) * 100_000)], True),
    ],
)
def test_acknowledgements_are_in_order_apart_and_known(
    batches: list[tuple[int, int, tuple[int, ...]]], is_right: bool
) -> None:
    asked = [AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=types) for a, b, types in batches]
    assert (all_of(read_batches(asked, 1, is_renewal=False)) is not None) == is_right


def test_renewals_are_announced() -> None:
    asked = [AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=(4,))]
    answers = [all_of(read_batches(asked, version, is_renewal=renews)) for version, renews in ((1, True), (2, False))]
    assert answers == [None, None]
    assert all_of(read_batches(asked, 2, is_renewal=True)) == (Said(0, 0, (4,)),)


TOPIC = Uuid.of(1, 1)
ONE, TWO = Member("g", "one"), Member("g", "two")


def test_sessions_are_as_many_as_there_is_room_for_and_go_with_their_connection() -> None:
    sessions = ShareSessions(2, most_partitions=3)
    places = [((TOPIC, index), "t") for index in range(4)]
    first = sessions.begin(ONE, places[:1], ConnectionId(1))
    assert first is not None
    assert sessions.begin(TWO, places[:1], ConnectionId(1)) is not None
    assert sessions.begin(Member("h", "three"), [], ConnectionId(3)) is None
    assert not sessions.update(first, places, [])
    assert sessions.update(first, places[:2], [])
    assert [each.is_news for each in first.partitions.values()] == [False, True]
    assert sessions.begin(ONE, places[:2], ConnectionId(2)) is not None, "it gives its own room"
    ended, group = sessions.closed(ConnectionId(1))
    assert ended is not None
    assert (ended.member, group, sessions.has_members("g")) == (TWO, "g", True)
    ended, group = sessions.closed(ConnectionId(2))
    assert (ended is not None, group, sessions.has_members("g"), len(sessions)) == (True, "g", False, 0)
    assert sessions.closed(ConnectionId(2)) == (None, None)


def test_a_group_says_otherwise_than_the_node() -> None:
    node = ShareSettings.of({"group.share.delivery.count.limit": "7", "group.share.max.share.sessions": "3"})
    assert node == ShareSettings(delivery_count_limit=7, max_sessions=3)
    group = {
        "share.record.lock.duration.ms": "1500",
        "share.isolation.level": "read_committed",
        "share.auto.offset.reset": "by_duration:P1DT2H3M4.5S",
        "share.renew.acknowledge.enable": "false",
    }
    found = limits_of(group, node)
    assert found == Limits(2000, 7, 1500, renews=False, reads_committed=True, begins="by_duration:P1DT2H3M4.5S")
    assert duration_ms(found.begins) == 93_784_500
    assert (found.throttled_from, LIMITS.throttled_from, replace(found, delivery_count_limit=2).throttled_from) == (
        4,
        3,
        2,
    )
