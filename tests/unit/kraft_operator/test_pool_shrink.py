"""Taking the highest broker of a pool away: only when it holds nothing, in steps that each can be repeated."""

from __future__ import annotations

import pytest

from kraft_operator.actions import UnregisterBroker, target
from kraft_operator.ledger import StepKind
from kraft_operator.status import status
from support.operator_model.world import World, pool, refused

pytestmark = pytest.mark.unit


def shrinking() -> World:
    world = World()
    world.settle()
    world.edit(brokerPools=[pool("b", 1, 100)])
    return world


def test_an_empty_broker_is_stopped_then_unregistered_then_its_set_goes_and_its_claim_stays() -> None:
    world = shrinking()
    world.writes.clear()
    world.settle()
    assert world.registered == {100}
    assert 101 not in world.sets
    assert "data-c-b-101-0" in world.claims
    told = [(type(each).__name__, target(each)) for each in world.writes]
    held, unregistered = (
        told.index(("ApplyChild", "StatefulSet/c-b-101")),
        told.index(("UnregisterBroker", "broker 101")),
    )
    assert (
        told.index(("WriteLedger", "ledger")) < held < unregistered < told.index(("DeleteChild", "StatefulSet/c-b-101"))
    )


def test_a_broker_that_holds_a_replica_stays_and_the_topic_is_named() -> None:
    world = shrinking()
    world.replicas = {101: ("payments",)}
    decision = world.settle()
    assert refused(decision) == ["ScaleDownBlocked"]
    assert "payments" in decision.findings[0].message
    assert world.sets[101].replicas == 1
    assert world.registered == {100, 101}


def test_a_replica_that_arrives_while_the_broker_stops_brings_it_back() -> None:
    world = shrinking()
    world.reconcile()
    assert world.sets[101].replicas == 0
    world.kubelet()
    world.replicas = {101: ("late",)}
    assert refused(world.settle()) == ["ScaleDownBlocked"]
    assert world.sets[101].replicas == 1
    assert world.registered == {100, 101}
    assert world.ledger is not None
    assert world.ledger.journal == ()


def test_who_cannot_be_asked_is_no_reason_to_act() -> None:
    world = shrinking()
    for node_id in (100, 101):
        world.pods[node_id].stage = "gate"
    assert "BrokersUnknown" in refused(world.plan())
    assert world.sets[101].replicas == 1


def test_nothing_is_unregistered_without_a_quorum() -> None:
    world = shrinking()
    world.reconcile()
    world.kubelet()
    for node_id in (0, 1):
        world.pods[node_id].stage = "gate"
    decision = world.plan()
    assert not [each for each in decision.actions if isinstance(each, UnregisterBroker)]
    assert "QuorumUnavailable" in refused(decision)


def test_raising_the_replicas_again_in_the_middle_keeps_the_broker() -> None:
    world = shrinking()
    world.reconcile()
    world.kubelet()
    world.edit(brokerPools=[pool("b", 2, 100)])
    world.settle()
    assert world.registered == {100, 101}
    assert world.sets[101].replicas == 1
    assert world.ledger is not None
    assert world.ledger.journal == ()


def test_a_removed_broker_is_welcome_again_with_its_disk() -> None:
    world = shrinking()
    world.settle()
    formats = list(world.formats)
    world.edit(brokerPools=[pool("b", 2, 100)])
    world.settle()
    assert world.registered == {100, 101}
    assert world.formats == formats


def test_the_step_is_journaled_by_its_holder_before_the_broker_stops() -> None:
    world = shrinking()
    world.reconcile(stop_after=1)
    assert world.ledger is not None
    step = world.ledger.journal[0]
    assert (step.kind, step.node_id, step.holder) == (StepKind.UNREGISTER, 101, "operator-a")
    assert world.sets[101].replicas == 1


def test_a_successor_finishes_what_was_journaled_in_its_own_name() -> None:
    world = shrinking()
    world.reconcile()
    world.kubelet()
    world.take_over()
    decision = world.plan()
    unregister = next(each for each in decision.actions if isinstance(each, UnregisterBroker))
    assert unregister.step.holder == world.fence.holder


def test_two_brokers_leave_one_after_the_other() -> None:
    world = World(brokerPools=[pool("b", 3, 100)])
    world.settle()
    world.edit(brokerPools=[pool("b", 1, 100)])
    world.reconcile()
    assert (world.sets[101].replicas, world.sets[102].replicas) == (1, 0)
    world.settle()
    assert world.registered == {100}


def test_a_move_whose_target_stands_still_is_waited_for_and_the_broker_stays() -> None:
    world = World(brokerPools=[pool("b", 3, 100)])
    world.settle()
    world.serve_reassignment()
    world.place("steady", 100, 102)
    world.edit(brokerPools=[pool("b", 2, 100)])
    world.reconcile()
    assert world.moving == {("steady", 0): [100, 101]}
    world.ghosts.add(101)  # fenced: the move goes on when it is back
    for _ in range(3):
        decision = world.reconcile()
        assert refused(decision) == ["DrainingBroker"]
        assert "steady" in decision.findings[0].message
        assert world.sets[102].replicas == 1
    world.ghosts.clear()
    world.settle()
    assert world.registered == {100, 101}


def test_what_only_a_person_can_resolve_is_stalled_and_told_once_however_many_topics_come() -> None:
    world = World()
    world.settle()
    world.place("t", 101)
    world.place("u", 101)
    world.edit(brokerPools=[pool("b", 1, 100)])
    first = status(world.cluster, world.observed(), world.settle(), {}, "t")
    assert next(each for each in first["conditions"] if each["type"] == "Stalled")["reason"] == "ScaleDownBlocked"
    for number in range(10):
        world.place(f"v{number}", 101)
        assert status(world.cluster, world.observed(), world.reconcile(), first, "t") == first


def test_a_drain_that_waits_for_a_broker_that_comes_is_not_stalled() -> None:
    world = World(brokerPools=[pool("b", 2, 100)])
    world.serve_reassignment()
    world.settle()
    world.place("t", 100, 101)
    world.edit(brokerPools=[pool("b", 2, 100) | {"excludedNodeIds": [101]}])
    found = [each for each in world.reconcile().findings if each.reason == "ScaleDownBlocked"]
    assert [each.stalled for each in found] == [False]
    world.settle(80)
    assert world.registered == {100, 102}
