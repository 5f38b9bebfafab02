"""Decisions in pieces: what a piece has, where the next one begins, and which heartbeats wait for none of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller_runtime.controller.decision import PIECE_RECORDS, Decision, RequestContext, at_once, written
from controller_runtime.identifiers import Instant, NodeId, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.nodes.controller_world import World, directory_of, uuid

pytestmark = pytest.mark.unit


def records(count: int, first: int = 0) -> list[VersionedRecord]:
    return [(TopicRecord(name=str(number)), 0) for number in range(first, first + count)]


def in_pieces(changes: list[VersionedRecord | None], offset: int) -> tuple[list[int], int, int]:
    """The sizes of the pieces that are written, the size of the last, and the offset where that begins."""
    made = written(changes, Offset(offset))
    sizes: list[int] = []
    try:
        piece = next(made)
        while True:
            sizes.append(len(piece))
            offset += len(piece) + 1  # a NoOp may come between
            piece = made.send(Offset(offset))
    except StopIteration as done:
        last, begins = done.value
        return sizes, len(last), begins


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], ([], 0, 10)),
        (records(3), ([], 3, 10)),
        ([*records(2), None, *records(1)], ([2], 1, 13)),
        ([None, None, *records(1)], ([0, 0], 1, 12)),
        (records(PIECE_RECORDS - 1), ([], PIECE_RECORDS - 1, 10)),
        (records(PIECE_RECORDS), ([PIECE_RECORDS], 0, 11 + PIECE_RECORDS)),
        (records(2 * PIECE_RECORDS + 1), ([PIECE_RECORDS, PIECE_RECORDS], 1, 12 + 2 * PIECE_RECORDS)),
    ],
)
def test_a_piece_ends_where_it_may_or_is_full(changes: list[Any], expected: tuple[list[int], int, int]) -> None:
    assert in_pieces(changes, 10) == expected


def test_all_pieces_at_once_are_the_decision_that_they_would_have_been() -> None:
    told: list[int] = []

    def pieces() -> Any:
        told.append((yield tuple(records(2))))
        told.append((yield ()))
        told.append((yield tuple(records(3, 2))))
        return Decision(BrokerHeartbeatResponse(), tuple(records(1, 5)), atomic=False)

    found = at_once(pieces(), Offset(10))
    assert found == Decision(BrokerHeartbeatResponse(), tuple(records(6)), atomic=False)
    assert told == [12, 12, 15]


# Heartbeats that change nothing.


def beat(world: World, **changes: object) -> BrokerHeartbeatRequest:
    found = BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=world.epoch(1), current_metadata_offset=world.offset, cordoned_log_dirs=None
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def started(*, unfenced: bool = True) -> World:
    world = World()
    world.register(1, log_dirs=(directory_of(1), directory_of(1, 2)))
    if unfenced:
        world.heartbeat(1)
    return world


def test_a_heartbeat_that_changes_nothing_is_answered_by_itself_and_heard() -> None:
    world = started()
    world.now = Instant(world.now + 2.0)
    for offset, caught_up in ((world.epoch(1) - 1, False), (world.epoch(1), True)):
        found = world.service.settled(world.image, beat(world, current_metadata_offset=offset), world.now)
        assert found == Decision(BrokerHeartbeatResponse(is_caught_up=caught_up, is_fenced=False), atomic=False)
        assert world.service.silences(world.now) == {1: 0.0}


def test_a_broker_that_stays_fenced_is_told_so() -> None:
    world = started(unfenced=False)
    for changes in ({"want_fence": True}, {"current_metadata_offset": 0}):
        found = world.service.settled(world.image, beat(world, **changes), world.now)
        assert found is not None
        assert isinstance(found.response, BrokerHeartbeatResponse)
        assert (found.response.is_fenced, found.response.should_shut_down) == (True, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"broker_id": 2},
        {"broker_epoch": 1},
        {"want_fence": True},
        {"want_shut_down": True},
        {"offline_log_dirs": (directory_of(1),)},
        {"cordoned_log_dirs": (directory_of(1),)},
    ],
)
def test_a_heartbeat_that_changes_something_or_is_refused_is_decided(changes: dict[str, object]) -> None:
    world = started()
    world.now = Instant(world.now + 2.0)
    assert world.service.settled(world.image, beat(world, **changes), world.now) is None
    assert world.service.silences(world.now) == {1: 2.0}


def test_a_fenced_broker_that_caught_up_and_what_is_no_heartbeat_is_decided() -> None:
    world = started(unfenced=False)
    request = beat(world)
    assert world.service.settled(world.image, request, world.now) is None
    assert world.service.settled(world.image, UnregisterBrokerRequest(broker_id=1), world.now) is None
    world = started()
    request = beat(world)
    world.service.deactivate()
    assert world.service.settled(world.image, request, world.now) is None


def test_a_broker_on_its_way_out_is_decided_even_if_it_does_not_say_so_again() -> None:
    """CLU-06: it may go as soon as it leads nothing and the others have caught up."""
    world = started()
    there = (CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)),)
    assert world.create("stock", -1, -1, assignments=there).error_code == 0
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    assert world.service.settled(world.image, beat(world), world.now) is None
    assert world.heartbeat(1).should_shut_down


@pytest.mark.parametrize(("behind", "fenced"), [(1, True), (0, False)])
def test_a_broker_that_has_replayed_its_registration_is_unfenced(behind: int, fenced: bool) -> None:
    """CLU-07."""
    world = started(unfenced=False)
    assert world.heartbeat(1, current_metadata_offset=world.epoch(1) - behind).is_fenced is fenced


@pytest.mark.parametrize(("topics", "partitions"), [(1, 1100), (1100, 0)])
@pytest.mark.parametrize("unregisters", [False, True])
def test_looking_at_much_comes_in_pieces_though_nothing_changes(
    topics: int, partitions: int, unregisters: bool
) -> None:
    """A thousand topics that do not name the broker, or partitions that another one leads; one that comes looks at
    those that nobody leads.
    """
    isr, leader = ((2,), 2) if unregisters else ((), -1)
    world = started(unfenced=False)
    world.start_broker(2)
    for number in range(topics):
        topic = uuid("topic", number)
        world.append([(TopicRecord(name=str(number), topic_id=topic), 0)])
        world.append(
            (PartitionRecord(topic_id=topic, partition_id=i, replicas=(2, 1), isr=isr, leader=leader), 1)
            for i in range(partitions)
        )
    request = UnregisterBrokerRequest(broker_id=1) if unregisters else beat(world)
    context = RequestContext(0, Offset(world.offset), WallClock(0), kraft_version=1)
    pieces = sum(1 for _ in world.service.plan(world.image, request, context, world.now))
    assert 2 <= pieces <= 4


def test_small_topics_share_a_piece() -> None:
    world = started()
    topics = tuple(CreatableTopic(name=str(n), num_partitions=1, replication_factor=1) for n in range(100))
    context = RequestContext(7, Offset(world.offset), WallClock(0), kraft_version=1)
    pieces = sum(1 for _ in world.service.plan(world.image, CreateTopicsRequest(topics=topics), context, world.now))
    assert 2 <= pieces <= 5


def test_what_may_touch_all_partitions_of_a_broker_comes_in_pieces() -> None:
    service = started().service
    assert service.comes_in_pieces(UnregisterBrokerRequest())
    assert service.comes_in_pieces(BrokerHeartbeatRequest())
    assert service.comes_in_pieces(started().registration(2))
    assert not service.comes_in_pieces(CreateTopicsRequest())


def test_the_pieces_are_the_decision_and_refusals_are_answers() -> None:
    for request, code in ((UnregisterBrokerRequest(broker_id=1), 0), (UnregisterBrokerRequest(broker_id=9), 102)):
        one, other = started(), started()
        context = RequestContext(0, Offset(one.offset), WallClock(0), kraft_version=1)
        made = at_once(one.service.plan(one.image, request, context, one.now), context.next_offset)
        assert made == other.service.handle(other.image, request, context, other.now)
        assert made.response.error_code == code  # type: ignore[attr-defined]


def test_many_partitions_of_a_broker_leave_in_pieces_and_the_broker_last() -> None:
    world = started()
    there = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in range(2 * PIECE_RECORDS + 9))
    assert world.create("wide", -1, -1, assignments=there).error_code == 0
    pieces = world.service.fence(world.image, NodeId(1), Offset(world.offset))
    sizes, begun, offset = [], next(pieces), world.offset
    last = Decision(BrokerHeartbeatResponse())
    try:
        while True:
            sizes.append(len(begun))
            offset += len(begun)
            begun = pieces.send(Offset(offset))
    except StopIteration as done:
        last = done.value
    assert max(sizes) <= PIECE_RECORDS
    assert sum(sizes) + len(last.records) == len(there) + 1
    assert type(last.records[-1][0]).__name__ == "BrokerRegistrationChangeRecord"
    assert not last.atomic
    assert last.response == BrokerHeartbeatResponse(is_fenced=True)
    assert world.service.silences(world.now) == {}


def test_a_broker_that_shuts_down_is_let_go_although_the_controller_was_replaced_in_the_middle() -> None:
    """CLU-06: the next one moves the leaders that the first one did not come to."""
    world = started()
    there = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in range(2 * PIECE_RECORDS + 9))
    assert world.create("wide", -1, -1, assignments=there).error_code == 0
    leaving = BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=world.epoch(1), current_metadata_offset=world.offset, want_shut_down=True
    )
    context = RequestContext(1, Offset(world.offset), WallClock(0), leader_id=NodeId(1))
    world.append(next(world.service.plan(world.image, leaving, context, world.now)))
    world.activate()
    assert world.image.topics.leads_any(1), "it was interrupted"
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    assert not world.image.topics.leads_any(1)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


def test_who_is_silent_is_looked_for_when_it_is_time() -> None:
    """CLU-09."""
    world = started()
    world.start_broker(2)
    assert world.service.silent_broker(world.image, world.now) is None
    world.now = Instant(world.now + 20.0)
    assert world.service.silent_broker(world.image, world.now) == 1
    assert world.service.silent_broker(world.image, world.now) is None, "not again at once"
    assert world.service.silent_broker(world.image, Instant(world.now + 0.01)) == 1
    world.service.deactivate()
    assert world.service.silent_broker(world.image, Instant(world.now + 99.0)) is None
