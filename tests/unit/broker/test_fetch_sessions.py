"""Fetch sessions of a broker (KIP-227). `tests/interop/test_differential_fetch_sessions.py` tells the same stories to
Apache Kafka, too.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from controller_runtime.broker.fetch_sessions import SHARDS, Cached, FetchSessionCache, Key
from controller_runtime.broker.replication.leader_session import LeaderSession, Named
from controller_runtime.identifiers import Instant, PartitionId, Uuid
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.clients.client_requests import produce
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.broker_world import BrokerWorld

pytestmark = pytest.mark.unit


def serving(*topics: str, partitions: int = 3, **config: Any) -> BrokerWorld:
    world = BrokerWorld(**config)
    world.start()
    for topic in topics:
        assert world.controller.create(topic, partitions=partitions).error_code == 0
    world.settle()
    return world


class Reader:
    """A client that fetches in a session, by names."""

    def __init__(self, world: BrokerWorld, version: int = 12) -> None:
        self.world = world
        self.version = version
        self.session, self.epoch = 0, 0

    def request(self, *wanted: tuple[int, int], forget: tuple[int, ...] = (), **more: Any) -> FetchRequest:
        """`wanted`: partitions of `orders`, and offsets."""
        parts = tuple(FetchPartition(partition=p, fetch_offset=o, partition_max_bytes=1 << 20) for p, o in wanted)
        more.setdefault("max_bytes", 1 << 20)
        return FetchRequest(
            session_id=self.session,
            session_epoch=self.epoch,
            topics=(FetchTopic(topic="orders", partitions=parts),) if parts else (),
            forgotten_topics_data=(ForgottenTopic(topic="orders", partitions=forget),) if forget else (),
            **more,
        )

    def fetch(self, *wanted: tuple[int, int], forget: tuple[int, ...] = (), **more: Any) -> FetchResponse:
        return self.took(self.world.ask(self.request(*wanted, forget=forget, **more), FetchResponse, self.version))

    def took(self, answer: FetchResponse) -> FetchResponse:
        if answer.error_code == 0:
            self.session, self.epoch = answer.session_id, self.epoch + 1
        return answer

    def told(self, *wanted: tuple[int, int], forget: tuple[int, ...] = (), **more: Any) -> list[tuple[int, int]]:
        """Which partitions an answer has, and what of them: an error, or how many bytes."""
        answer = self.fetch(*wanted, forget=forget, **more)
        assert answer.error_code == 0
        return [
            (one.partition_index, -one.error_code or len(one.records or b""))
            for topic in answer.responses
            for one in topic.partitions
        ]


def test_a_session_tells_only_what_is_new() -> None:
    """FCH-01."""
    reader = Reader(serving("orders"))
    assert reader.told((0, 0), (1, 0), (2, 0)) == [(0, 0), (1, 0), (2, 0)]
    assert reader.session != 0
    assert reader.told() == []
    reader.world.ask(produce("orders", b"one", index=1), ProduceResponse, 9)
    assert [index for index, _ in reader.told()] == [1]
    assert reader.told((1, 1)) == []
    assert reader.told(forget=(0,)) == []
    reader.world.ask(produce("orders", b"one", index=0), ProduceResponse, 9)
    assert reader.told() == [], "what is forgotten is not told of"


def test_errors_of_a_session_come_in_kafkas_order_and_leave_it_as_it_was() -> None:
    """FCH-02."""
    reader = Reader(serving("orders"))
    reader.fetch((0, 0))
    for session, epoch, version, error in [
        (reader.session + 1, 1, 12, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (reader.session, 2, 13, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (reader.session, 1, 13, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ]:
        request = FetchRequest(session_id=session, session_epoch=epoch)
        answer = reader.world.ask(request, FetchResponse, version)
        assert (answer.error_code, answer.session_id, answer.responses) == (error, 0, ())
    assert reader.told() == []


def test_a_full_request_ends_the_session_that_it_names() -> None:
    """FCH-03."""
    reader = Reader(serving("orders"))
    reader.fetch((0, 0))
    first = reader.session
    reader.epoch = 0
    reader.fetch((0, 0))
    assert reader.session not in (0, first)
    assert reader.world.service.sessions.cache.counts.sessions == 1
    reader.epoch = -1
    assert reader.told((0, 0)) == [(0, 0)]
    assert (reader.session, reader.world.service.sessions.cache.counts.sessions) == (0, 0)


def test_a_session_that_forgets_everything_is_over() -> None:
    """FCH-03."""
    reader = Reader(serving("orders"))
    reader.fetch((0, 0), (1, 0))
    assert reader.told(forget=(0, 1)) == []
    assert reader.session == 0
    counts = reader.world.service.sessions.cache.counts
    assert (counts.sessions, counts.partitions) == (0, 0)


def test_an_error_is_told_until_it_is_over_and_then_its_end() -> None:
    """FCH-05."""
    reader = Reader(serving("orders"))
    assert reader.told((0, 7)) == [(0, -ErrorCode.OFFSET_OUT_OF_RANGE)]
    assert reader.told() == [(0, -ErrorCode.OFFSET_OUT_OF_RANGE)]
    assert reader.told((0, 0)) == [(0, 0)]
    assert reader.told() == []


def test_who_had_its_turn_stands_behind_the_others() -> None:
    """FCH-06: with room for one batch each partition has its turn."""
    reader = Reader(serving("orders"))
    for index in range(3):
        reader.world.ask(produce("orders", b"one", index=index), ProduceResponse, 9)
    turns = [reader.told((0, 0), (1, 0), (2, 0), max_bytes=1)]
    turns += [reader.told(max_bytes=1) for _ in range(3)]
    having = [[index for index, size in turn if size] for turn in turns]
    assert having == [[0], [0], [1], [2]], "the first request is not of a session yet"


def test_a_topic_that_is_not_known_yet_is_told_when_it_is() -> None:
    """FCH-07: its id stays in the session, and is UNKNOWN_TOPIC_ID until then."""
    world = serving()
    wanted = FetchTopic(topic_id=Uuid.of(9, 9), partitions=(FetchPartition(partition_max_bytes=1 << 20),))
    answer = world.ask(FetchRequest(session_epoch=0, topics=(wanted,)), FetchResponse)
    for epoch in (1, 2):
        answer = world.ask(FetchRequest(session_id=answer.session_id, session_epoch=epoch), FetchResponse)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert answer.responses[0].topic_id == Uuid.of(9, 9)


def test_a_waiting_request_of_a_session_is_woken_by_what_is_new() -> None:
    reader = Reader(serving("orders"))
    reader.fetch((0, 0), (1, 0))
    waiting = reader.world.send(reader.request(max_wait_ms=5_000, min_bytes=1), 12)
    reader.world.settle()
    assert waiting not in reader.world.answers
    reader.world.ask(produce("orders", b"one", index=1), ProduceResponse, 9)
    answer = reader.world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert [one.partition_index for one in answer.responses[0].partitions] == [1]


def test_a_session_that_went_on_elsewhere_refuses_what_still_waits() -> None:
    """FCH-02: as in Kafka the waiting request is told when it would be answered."""
    reader = Reader(serving("orders"))
    reader.fetch((0, 0))
    waiting = reader.world.send(reader.request(max_wait_ms=500, min_bytes=1), 12, connection=1)
    reader.epoch = 2
    other = reader.world.send(reader.request(), 12, connection=2)
    reader.world.wait(1.0)
    answers = [reader.world.answers[each] for each in (waiting, other)]
    assert [getattr(each, "error_code", None) for each in answers] == [ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0]


def test_who_hangs_up_leaves_his_session_and_nothing_else() -> None:
    reader = Reader(serving("orders"))
    reader.fetch((0, 0))
    reader.world.send(reader.request(max_wait_ms=5_000, min_bytes=1), 12)
    reader.world.hang_up(1)
    assert not reader.world.service.sessions._open
    reader.epoch += 1
    assert reader.told() == []


def test_a_session_of_a_repeated_partition_has_it_once_as_named_last() -> None:
    reader = Reader(serving("orders"))
    reader.world.ask(produce("orders", b"one"), ProduceResponse, 9)
    assert reader.told((0, 0), (1, 0), (0, 1)) == [(0, 0), (1, 0)]
    assert reader.world.service.sessions.cache.counts.partitions == 2


# Who gives way.


def partitions(many: int) -> dict[Key, Cached]:
    return {("orders", index): Cached("orders", Uuid.of(1, 1), FetchPartition()) for index in range(many)}


class Crowd:
    """A cache with two slots in each shard, and always the same shard asked."""

    def __init__(self, most: int = 1000) -> None:
        numbers = count(1)
        self.cache = FetchSessionCache(2 * SHARDS, lambda: Uuid.of(next(numbers) << 32, 0), most)

    def begins(self, many: int, at: float, *, follower: bool = False) -> int:
        self.cache._next_shard = 0
        return self.cache.create(partitions(many), Instant(at), is_followers=follower, by_ids=True)


@pytest.mark.parametrize(
    ("old", "new", "at", "gives_way"),
    [
        (((1, False), (1, False)), (9, False), 100.0, None),
        (((1, False), (1, False)), (1, True), 100.0, 0),
        (((1, True), (1, True)), (9, True), 100.0, None),
        (((1, True), (9, False)), (1, True), 100.0, 1),
        (((3, False), (2, False)), (2, True), 100.0, 1),
        (((3, False), (2, False)), (1, False), 121.0, 0),  # it was not used for so long
    ],
)
def test_who_gives_way(old: Any, new: tuple[int, bool], at: float, gives_way: int | None) -> None:
    """FCH-04."""
    crowd = Crowd()
    ids = [crowd.begins(many, float(number) / 10, follower=follower) for number, (many, follower) in enumerate(old)]
    assert all(ids)
    begun = crowd.begins(new[0], at, follower=new[1])
    assert (begun != 0) == (gives_way is not None)
    assert [crowd.cache.get(each) is None for each in ids] == [place == gives_way for place in range(len(ids))]
    assert crowd.cache.counts.evictions == (gives_way is not None)


@pytest.mark.parametrize(("size", "gives_way"), [(1, False), (2, False), (3, True)])
def test_an_old_session_in_use_gives_way_to_a_larger_one_only(size: int, gives_way: bool) -> None:
    """FCH-04; KAFKA-9137: that it is used is noted each time, else it would be stale by now."""
    crowd = Crowd()
    ids = [crowd.begins(2, 0.0), crowd.begins(5, 0.0)]
    for each in ids:
        session = crowd.cache.get(each)
        assert session is not None
        assert crowd.cache.touch(session, Instant(130.0))
    assert (crowd.begins(size, 131.0) != 0) == gives_way
    assert (crowd.cache.get(ids[0]) is None) == gives_way


def test_more_partitions_than_there_is_room_for_are_no_session() -> None:
    crowd = Crowd(most=10)
    assert crowd.begins(8, 0.0) != 0
    assert crowd.begins(3, 0.0) == 0
    session_id = crowd.begins(2, 0.0)
    session = crowd.cache.get(session_id)
    assert session is not None
    session.partitions.update({("other", 0): Cached("other", Uuid.of(2, 2), FetchPartition())})
    assert not crowd.cache.touch(session, Instant(1.0)), "its client begins anew, without one"
    assert (crowd.cache.get(session_id), crowd.cache.counts.partitions) == (None, 8)


def test_without_slots_nobody_has_a_session() -> None:
    reader = Reader(serving("orders", fetch_session_slots=0))
    assert reader.told((0, 0)) == [(0, 0)]
    assert reader.session == 0


# The follower's side.


def key(index: int) -> PartitionId:
    return PartitionId(Uuid.of(1, 1), index)


def wanting(*offsets: int) -> dict[PartitionId, FetchPartition]:
    return {key(index): FetchPartition(partition=index, fetch_offset=offset) for index, offset in enumerate(offsets)}


def test_a_follower_names_only_what_changed() -> None:
    """FLW-01."""
    session = LeaderSession()
    both = wanting(5, 6)
    assert whole(session.next(both)) == Named(0, 0, tuple(both.items()))
    assert not session.answered(FetchResponse(session_id=77))
    assert whole(session.next(wanting(5, 7))) == Named(77, 1, ((key(1), wanting(5, 7)[key(1)]),))
    session.answered(FetchResponse(session_id=77))
    assert whole(session.next(wanting(5))) == Named(77, 2, (), (key(1),))


@pytest.mark.parametrize(
    ("answer", "session_id", "at_once"),
    [
        (FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND), 0, True),
        (FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH), 77, True),
        (FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR), 77, False),
        (FetchResponse(session_id=0), 0, False),
        (FetchResponse(session_id=78), 77, False),
        (None, 77, False),
    ],
)
def test_a_follower_begins_anew_when_the_two_may_not_mean_the_same(
    answer: FetchResponse | None, session_id: int, at_once: bool
) -> None:
    session = LeaderSession()
    whole(session.next(wanting(5)))
    session.answered(FetchResponse(session_id=77))
    whole(session.next(wanting(6)))
    if answer is None:
        session.failed()
    else:
        assert session.answered(answer) is at_once
    assert whole(session.next(wanting(6))) == Named(session_id, 0, tuple(wanting(6).items()))


def test_a_leader_without_sessions_is_asked_in_full_and_not_in_a_hurry() -> None:
    session = LeaderSession()
    whole(session.next(wanting(5)))
    assert not session.answered(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    assert whole(session.next(wanting(5))).epoch == 0


def test_followers_of_ours_copy_in_sessions_and_go_on_when_these_are_lost() -> None:
    """FLW-01, and a leader that has forgotten: one request tells, the next is whole."""
    fleet = BrokerFleet(11, 12)
    fleet.controller.create("orders", factor=2)
    fleet.wait(2.0)
    leader = fleet.leader("orders")
    assert leader is not None
    follower = next(world for world in fleet.brokers.values() if world is not leader)
    sessions = leader.service.sessions.cache
    assert sessions.counts.sessions == 1
    for number in range(3):
        leader.send(produce("orders", b"%d" % number), 9)
        fleet.wait(1.0)
        for shard in sessions._shards if number == 1 else ():
            shard.clear()
    ends = [next(iter(world.service.partitions.high_watermarks().values())) for world in (leader, follower)]
    assert ends == [3, 3]
    assert sessions.counts.sessions == 1
