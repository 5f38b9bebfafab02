"""CLU-06: the state table of heartbeats, whole; and when a session is over."""

from __future__ import annotations

import pytest

from controller_runtime.controller.heartbeats import (
    CUT_OFF_S,
    BrokerState,
    Heartbeats,
    Wish,
    current_state,
    next_state,
)
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.parts.events import ConnectionId
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

FENCED, UNFENCED = BrokerState.FENCED, BrokerState.UNFENCED
SHUTTING_DOWN, NOW = BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW

TABLE = [
    # current, fence, shut down, caught up, leads, others caught up -> next
    (FENCED, False, False, True, False, True, UNFENCED),
    (FENCED, False, False, False, False, True, FENCED),
    (FENCED, True, False, True, False, True, FENCED),
    (FENCED, False, True, True, False, True, NOW),
    (FENCED, True, True, True, True, False, NOW),
    (UNFENCED, False, False, True, True, True, UNFENCED),
    (UNFENCED, False, False, False, True, True, UNFENCED),
    (UNFENCED, True, False, True, True, True, FENCED),
    (UNFENCED, True, True, True, True, True, NOW),
    (UNFENCED, False, True, True, True, True, SHUTTING_DOWN),
    (UNFENCED, False, True, True, False, False, NOW),
    (SHUTTING_DOWN, False, True, True, True, True, SHUTTING_DOWN),
    (SHUTTING_DOWN, False, True, True, False, False, SHUTTING_DOWN),
    (SHUTTING_DOWN, False, True, True, False, True, NOW),
    (SHUTTING_DOWN, False, False, True, False, True, NOW),
]


@pytest.mark.parametrize(("current", "fence", "shut_down", "caught_up", "leads", "others", "expected"), TABLE)
def test_the_table(
    current: BrokerState,
    fence: bool,
    shut_down: bool,
    caught_up: bool,
    leads: bool,
    others: bool,
    expected: BrokerState,
) -> None:
    assert next_state(current, Wish(fence, shut_down, caught_up), leads=leads, others_caught_up=others) is expected


def test_a_fenced_state_is_told_as_fenced() -> None:
    assert [state for state in BrokerState if state.is_fenced] == [FENCED, NOW]


def test_the_state_comes_from_the_image() -> None:
    world = World()
    world.register(1)
    assert current_state(world.image.cluster.brokers[NodeId(1)]) is FENCED
    world.heartbeat(1)
    assert current_state(world.image.cluster.brokers[NodeId(1)]) is UNFENCED


def test_a_session_belongs_to_one_registration() -> None:
    world = World()
    world.start_broker(1)
    broker = world.image.cluster.brokers[NodeId(1)]
    heartbeats = Heartbeats(9.0)
    assert not heartbeats.has_valid_session(broker, Instant(0.0))
    heartbeats.touch(broker, Instant(100.0), 5)
    assert heartbeats.has_valid_session(broker, Instant(108.9))
    assert not heartbeats.has_valid_session(broker, Instant(109.0))
    world.wait(20)
    assert world.register(1, incarnation=2).error_code == 0
    assert not heartbeats.has_valid_session(world.image.cluster.brokers[NodeId(1)], Instant(101.0))


HERE, ELSEWHERE = ConnectionId(7), ConnectionId(8)


def beating(every_s: float = 2.0, beats: int = 3) -> tuple[World, Heartbeats, BrokerRegistration, Instant]:
    """A broker that sends a heartbeat every so often on one connection; and when the last one came."""
    world = World()
    world.start_broker(1)
    broker, heartbeats = world.image.cluster.brokers[NodeId(1)], Heartbeats(9.0)
    for number in range(beats):
        heartbeats.touch(broker, Instant(number * every_s), 5, HERE)
    return world, heartbeats, broker, Instant((beats - 1) * every_s)


def test_who_is_cut_off_and_does_not_come_back_is_not_waited_for_to_the_end_of_its_session() -> None:
    """A killed process: its connection ends at once."""
    world, heartbeats, broker, last = beating()
    gone = Instant(last + 1.5)
    assert heartbeats.cut_off(HERE, gone) == gone + CUT_OFF_S
    assert heartbeats.first_end(world.image) == gone + CUT_OFF_S
    assert heartbeats.has_valid_session(broker, Instant(gone + 2.9))
    assert heartbeats.stale_broker(world.image, Instant(gone + 2.9)) is None
    assert heartbeats.stale_broker(world.image, Instant(gone + CUT_OFF_S)) == broker


def test_who_is_cut_off_and_comes_back_has_a_whole_session() -> None:
    """One that lives sends its next heartbeat on another connection."""
    world, heartbeats, broker, last = beating()
    heartbeats.cut_off(HERE, Instant(last + 0.1))
    heartbeats.touch(broker, Instant(last + 2.0), 5, ELSEWHERE)
    assert heartbeats.first_end(world.image) == last + 2.0 + 9.0
    assert heartbeats.cut_off(HERE, Instant(last + 3.0)) is None, "that connection says nothing any more"
    assert heartbeats.first_end(world.image) == last + 2.0 + 9.0


@pytest.mark.parametrize(("every_s", "patience_s"), [(0.1, CUT_OFF_S), (2.0, CUT_OFF_S), (4.0, 6.0)])
def test_a_broker_that_beats_rarely_has_more_time_to_come_back(every_s: float, patience_s: float) -> None:
    _, heartbeats, _, last = beating(every_s)
    assert heartbeats.cut_off(HERE, last) == last + patience_s


def test_a_lost_connection_makes_no_session_longer() -> None:
    _, heartbeats, broker, last = beating()
    assert heartbeats.cut_off(HERE, Instant(last + 8.0)) == last + 9.0
    assert heartbeats.cut_off(HERE, Instant(last + 8.5)) is None, "it is lost once"
    assert not heartbeats.has_valid_session(broker, Instant(last + 9.0))


def test_of_a_connection_on_which_nobody_beat_nothing_follows() -> None:
    world, heartbeats, _, last = beating()
    assert heartbeats.cut_off(ELSEWHERE, last) is None
    begun = Heartbeats.begin(world.image, last, 9.0)
    assert begun.cut_off(HERE, last) is None, "a new leader has not heard of anybody yet"


def test_a_sign_of_life_on_another_connection_counts_too() -> None:
    """CLU-10."""
    world, heartbeats, broker, last = beating()
    heartbeats.cut_off(HERE, last)
    heartbeats.hear(broker, Instant(last + 1.0), ELSEWHERE)
    assert heartbeats.first_end(world.image) == last + 1.0 + 9.0


def test_a_new_leader_gives_every_unfenced_broker_a_whole_session() -> None:
    world = World()
    world.start_broker(1)
    world.register(2)
    world.wait(8.0)
    world.activate()
    assert world.wait(8.0) == []
    assert [record.broker_id for record, _ in world.wait(3.0)] == [1]  # type: ignore[attr-defined]


def test_silent_brokers_are_fenced_one_at_a_time_within_a_moment() -> None:
    """CLU-09."""
    world = World()
    for broker in (1, 2, 3):
        world.start_broker(broker)
    world.now = Instant(world.now + 0.3)
    for broker in (1, 2, 3):
        world.heartbeat(broker)
    fenced: list[tuple[int, float]] = []
    start = world.now
    while len(fenced) < 3:
        due = world.service.next_deadline()
        assert due is not None
        world.now = due
        records = world.periodic()
        changes = [r for r, _ in records if type(r).__name__ == "BrokerRegistrationChangeRecord"]
        assert len(changes) <= 1
        fenced += [(change.broker_id, world.now - start) for change in changes]  # type: ignore[attr-defined]
    assert sorted(broker for broker, _ in fenced) == [1, 2, 3]
    assert 9.0 <= fenced[0][1] <= 9.0 + 0.02, "as soon as the session ends, not at the next of some checks"
    assert fenced[2][1] - fenced[0][1] < 0.1


def test_a_heartbeat_that_came_too_late_to_be_answered_prevents_fencing_and_changes_nothing_else() -> None:
    """CLU-10: Kafka's expired heartbeat, ours that is refused for lack of room. What the broker has replayed stays what
    it said last.
    """
    world = World()
    world.start_broker(1)
    world.start_broker(2)
    there = CreatableReplicaAssignment(partition_index=0, broker_ids=(1,))
    assert world.create("mail", -1, -1, assignments=(there,)).error_code == 0
    world.heartbeat(1, want_shut_down=True)
    waiting = world.offset
    world.heartbeat(2, current_metadata_offset=waiting - 3)
    before = world.image
    late = BrokerHeartbeatRequest(
        broker_id=2,
        broker_epoch=world.epoch(2),
        current_metadata_offset=waiting + 9,
        want_fence=True,
        want_shut_down=True,
    )
    for _ in range(6):
        assert world.wait(4.0) == []
        world.service.hear(world.image, late, world.now)
        world.heartbeat(1, want_shut_down=True)
    assert world.image == before, "neither fenced nor shut down"
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down, (
        "broker 2 has not replayed it, as far as is known"
    )
    world.heartbeat(2, current_metadata_offset=waiting)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


def test_a_late_heartbeat_of_another_epoch_or_of_nobody_is_no_sign_of_life() -> None:
    """CLU-10, CLU-11."""
    world = World()
    world.start_broker(1)
    stale = BrokerHeartbeatRequest(broker_id=1, broker_epoch=world.epoch(1) - 1)
    for _ in range(6):
        world.wait(2.0)
        world.service.hear(world.image, stale, world.now)
        world.service.hear(world.image, BrokerHeartbeatRequest(broker_id=9), world.now)
    assert world.image.cluster.brokers[NodeId(1)].fenced
    world.service.deactivate()
    world.service.hear(world.image, stale, world.now)


def test_a_heartbeat_prevents_fencing_and_the_epoch_of_a_stranger_does_not() -> None:
    """CLU-11."""
    world = World()
    world.start_broker(1)
    for _ in range(4):
        assert world.wait(5.0) == []
        world.heartbeat(1)
    for _ in range(3):
        world.wait(4.0)
        assert world.heartbeat(1, broker_epoch=1).error_code == 77
    assert world.image.cluster.brokers[NodeId(1)].fenced
