"""What a plan gives up is said before it happens, approved as what it is, and not forgotten afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kraft_operator import events
from kraft_operator.ledger import GivenUp, Ledger
from kraft_operator.ledger_format import parse, render
from kraft_operator.plan.giving_up import SHOWN, give_up
from kraft_operator.plan.steps import Outline, Risk
from kraft_operator.status import status
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit

FORCE = {"drain": "Force", "timeout": "12s"}


def shrinking(*, mode: str = "Apply", copies: bool = False) -> World:
    """Broker 101 has to go; topic u is on it alone, or (`copies`) on both."""
    world = World()
    world.settle()
    world.place("u", *((101, 100) if copies else (101,)))
    world.edit(brokerPools=[pool("b", 1, 100) | {"scaleDown": FORCE}], changePolicy={"mode": mode})
    return world


def told(world: World) -> dict[str, Any]:
    decision = world.plan()
    return status(world.cluster, world.observed(), decision, {}, "now")


def test_a_plan_that_loses_data_says_so_in_status_and_event() -> None:
    world = shrinking()
    new = told(world)
    assert new["plan"]["risk"] == "DataLoss"
    assert [each for each in new["plan"]["warnings"] if "u-0 has no other replica in sync and is lost" in each]
    published = next(each for each in events.notes({}, new, None, None, ()) if each.reason == "PlanPublished")
    assert published.type == "Warning"
    assert "u-0" in published.text


def test_a_plan_that_costs_nothing_is_no_warning() -> None:
    world = World()
    world.settle()
    world.edit(image={"repository": "kafka", "tag": "2"})
    new = told(world)
    assert new["plan"]["risk"] == "Availability"
    assert "warnings" not in new["plan"]
    published = next(each for each in events.notes({}, new, None, None, ()) if each.reason == "PlanPublished")
    assert published.type == "Normal"


def test_while_no_broker_says_what_it_holds_nobody_claims_that_copies_go_nor_approves_that_data_goes() -> None:
    world = shrinking(mode="Plan", copies=True)
    world.plan()
    now = world.situation()
    deaf = replace(now.observed, brokers=replace(now.observed.brokers, partitions=None, replicas=None))
    (pool_of_101,) = world.cluster.spec.broker_pools
    step = give_up(replace(now, observed=deaf, published=Outline()), pool_of_101, 101)
    assert (step.id, step.risk) == ("give-up-copies/101", Risk.DATA_LOSS)
    assert step.reason.endswith("no broker says now whether every partition has another replica in sync")


def test_one_controller_left_is_a_warning() -> None:
    world = World()
    world.settle()
    ids = {"start": 0, "end": 9}
    world.edit(controllers={"replicas": 1, "nodeIdRange": ids, "storage": {"size": "1Gi"}})
    assert "no voter may be lost" in told(world)["plan"]["warnings"][0]


def test_the_decision_to_force_a_broker_out_is_a_warning_event_that_names_the_partitions() -> None:
    world = shrinking()
    before = world.ledger
    for _ in range(8):
        world.reconcile()
        if world.ledger is not None and world.ledger.given_up:
            break
    assert world.ledger is not None
    assert world.ledger.given_up == (GivenUp(101, ("u-0",)),)
    (note,) = [each for each in events.notes({}, {}, before, world.ledger, ()) if each.reason == "ReplicasGivenUp"]
    assert note.type == "Warning"
    assert "u-0" in note.text


def test_who_approved_that_copies_go_has_not_approved_that_data_goes() -> None:
    world = shrinking(mode="Plan", copies=True)
    world.plan()
    world.approve()
    world.reconcile()
    world.fall_behind(100)
    for _ in range(12):
        world.reconcile()
        world.kubelet()
    assert 101 in world.pods
    assert world.ledger is not None
    assert not world.ledger.given_up
    assert told(world)["plan"]["approved"] == "No"


def test_partitions_without_a_leader_are_the_reason_of_ready() -> None:
    world = shrinking()
    world.settle()
    ready = next(each for each in told(world)["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PartitionsWithoutLeader")
    assert "u-0 has no leader" in ready["message"]


def test_what_was_given_up_is_forgotten_once_every_partition_has_a_leader() -> None:
    world = shrinking()
    world.settle()
    del world.partitions["u", 0]  # somebody deletes the topic
    world.settle()
    assert world.ledger is not None
    assert world.ledger.given_up == ()


def test_the_ledger_remembers_it_and_names_no_more_than_a_few() -> None:
    world = World()
    world.settle()
    for _ in range(SHOWN + 3):
        world.place("u", 101)
    world.edit(brokerPools=[pool("b", 1, 100) | {"scaleDown": FORCE}])
    world.settle()
    ledger = world.ledger
    assert ledger is not None
    assert (len(ledger.given_up[0].only), ledger.given_up[0].more) == (SHOWN, 3)
    assert parse(render(ledger)) == ledger
    assert Ledger("x").given_up == ()


def test_what_was_lost_with_a_disk_is_remembered_once() -> None:
    world = World(brokerPools=[pool("b", 2, 100)])
    world.settle(80)
    world.place("t", 101)
    world.settle()
    world.delete_claim(101)
    world.settle()
    world.approve()
    world.fall_behind(101)  # nobody leads it
    decision = world.settle(80)
    assert [each.reason for each in decision.findings] == ["PartitionsWithoutLeader"]
    assert world.reconcile().actions == ()
