"""A leaving broker takes no new replicas, one that stays or comes back does, and who is blocked keeps nobody."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.actions import (
    ApplyChild,
    CordonBroker,
    MoveReplicas,
    UncordonBroker,
    UnregisterBroker,
    WriteLedger,
)
from support.operator_model.world import CORDONS, World, pool, refused

pytestmark = pytest.mark.unit


def brokers(count: int, **changes: object) -> dict[str, Any]:
    return {"brokerPools": [pool("b", count, 100) | changes], "image": {"repository": "kafka", "tag": "2"}}


def running(count: int = 4) -> World:
    """Apache Kafka 4.3: image 2 of this world brings level 30."""
    world = World(**brokers(count))
    world.serve_reassignment()
    world.settle()
    world.finalized["metadata.version"] = CORDONS
    world.writes.clear()
    return world


def kinds(world: World) -> list[str]:
    told = (CordonBroker, UncordonBroker, MoveReplicas, UnregisterBroker)
    return [type(each).__name__ for each in world.writes if isinstance(each, told)]


def test_a_leaving_broker_is_cordoned_before_its_replicas_move_and_opened_before_it_is_unregistered() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    world.settle()
    assert kinds(world) == ["CordonBroker", "MoveReplicas", "UncordonBroker", "UnregisterBroker"]
    assert world.registered == {100, 101, 102}
    assert not world.cordoned
    assert world.ledger is not None
    assert (world.ledger.cordoned, world.ledger.journal) == ((), ())
    assert not world.broken


def test_a_broker_that_holds_nothing_is_cordoned_before_it_is_stopped() -> None:
    world = running()
    world.edit(**brokers(3))
    assert refused(world.reconcile()) == ["DrainingBroker"]
    assert world.cordoned == {103}
    assert world.sets[103].replicas == 1
    world.settle()
    stopped = next(
        place
        for place, each in enumerate(world.writes)
        if isinstance(each, ApplyChild) and each.manifest["spec"].get("replicas") == 0
    )
    assert any(isinstance(each, CordonBroker) for each in world.writes[:stopped])
    assert world.registered == {100, 101, 102}


def test_that_a_broker_is_cordoned_is_written_down_first() -> None:
    world = running()
    world.edit(**brokers(3))
    actions = world.plan().actions
    cordon = next(place for place, each in enumerate(actions) if isinstance(each, CordonBroker))
    written = next(each for each in actions[:cordon] if isinstance(each, WriteLedger))
    assert written.ledger.cordoned == (103,)


def test_a_broker_that_stays_after_all_takes_replicas_again() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    world.reconcile()
    assert world.cordoned == {103}
    world.edit(**brokers(4))
    world.settle()
    assert not world.cordoned
    assert world.ledger is not None
    assert world.ledger.cordoned == ()
    assert world.registered == {100, 101, 102, 103}


def test_a_broker_that_stays_is_opened_although_it_does_not_answer() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    world.reconcile()
    world.freeze(103)
    world.edit(**brokers(4))
    world.reconcile()
    assert not world.cordoned


def test_a_broker_that_stays_is_opened_although_the_ledger_was_lost_meanwhile() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    world.reconcile()
    world.lose_ledger()
    world.edit(**brokers(4))
    world.settle()
    assert not world.cordoned


def test_a_cordon_of_somebody_else_stays() -> None:
    world = running()
    world.cordoned.add(102)
    world.edit(**brokers(3))
    world.settle()
    assert world.cordoned == {102}


def test_all_that_have_to_leave_are_cordoned_at_once() -> None:
    world = running()
    world.place("t", 103, 100)
    world.edit(**brokers(2))
    world.reconcile()
    assert world.cordoned == {102, 103}
    world.settle()
    assert world.registered == {100, 101}
    assert not world.cordoned


def test_below_4_3_what_arrives_is_moved_away_too_and_that_is_said() -> None:
    world = running()
    world.finalized["metadata.version"] = CORDONS - 1
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    (told,) = [each.message for each in world.reconcile().findings if each.reason == "DrainingBroker"]
    assert "new topics may still get replicas on it" in told
    world.place("late", 103)
    world.settle()
    assert kinds(world)[-1] == "UnregisterBroker"
    assert "CordonBroker" not in kinds(world)
    assert world.registered == {100, 101, 102}


def test_a_runtime_that_cannot_move_replicas_is_not_cordoned() -> None:
    world = running()
    world.apis.discard(45)
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3))
    assert refused(world.settle()) == ["ScaleDownBlocked"]
    assert not world.cordoned


def test_a_blocked_broker_keeps_an_excluded_one_from_nothing() -> None:
    """Broker 103's partition has no other place; 100, which somebody excludes, holds nothing."""
    world = running()
    world.place("t", 103, 101, 102)
    world.edit(**brokers(2, excludedNodeIds=[100]))
    decision = world.settle()
    assert world.registered == {101, 102, 103}
    assert "ScaleDownBlocked" in refused(decision)
    assert world.cordoned == {103}


def test_a_blocked_broker_lets_the_next_one_go() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(2))
    decision = world.settle()
    assert world.registered == {100, 101, 103}
    assert refused(decision) == ["ScaleDownBlocked"]
    world.drop_topic(100, 101, 103)
    world.settle()
    assert world.registered == {100, 101}


def test_an_excluded_broker_goes_before_the_highest() -> None:
    world = running()
    world.edit(**brokers(2, excludedNodeIds=[100]))
    world.settle()
    gone = [each.node_id for each in world.writes if isinstance(each, UnregisterBroker)]
    assert gone == [100, 103]


def test_in_mode_plan_the_cordon_is_announced_and_one_approval_suffices() -> None:
    world = running()
    world.place("t", 103, 100, 101)
    world.edit(**brokers(3), changePolicy={"mode": "Plan"})
    world.settle()
    assert not world.cordoned
    assert [each.id for each in world.published.steps][:2] == ["cordon/103", "move/103"]
    name = world.published.hash
    world.approve()
    world.settle()
    assert world.registered == {100, 101, 102}
    assert world.published.last == name
