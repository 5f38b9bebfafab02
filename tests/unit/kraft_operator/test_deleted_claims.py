"""A claim that is being deleted under its running pod: who may be evicted, who may let it go, and what is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.status import status
from support.operator_model.world import World, pool, resource

pytestmark = pytest.mark.unit


def budget(world: World, name: str) -> Mapping[str, Any] | None:
    child = world.children.get(("PodDisruptionBudget", name))
    return child.live["spec"] if child is not None else None


@pytest.mark.parametrize("mode", ["Apply", "Plan"])
@pytest.mark.parametrize(("node_id", "name"), [(1, "c-controller"), (100, "c-b")])
def test_no_pod_of_a_group_with_a_claim_that_goes_may_be_evicted(mode: str, node_id: int, name: str) -> None:
    """A single broker has no budget of its own otherwise."""
    pools = [pool("b", 1, 100)]
    world = World(brokerPools=pools)
    world.settle()
    world.edit(brokerPools=pools, changePolicy={"mode": mode})
    world.settle()
    world.terminate(node_id)
    world.settle()
    found = budget(world, name)
    assert found is not None
    assert (found["maxUnavailable"], found["unhealthyPodEvictionPolicy"]) == (0, "IfHealthyBudget")
    assert "minAvailable" not in found


def test_the_budget_of_the_voters_opens_again_when_the_claim_is_given_up() -> None:
    world = World(changePolicy={"mode": "Plan"})
    world.plan()
    world.approve()
    world.settle()
    before = budget(world, "c-controller")
    world.terminate(1)
    world.settle()
    assert budget(world, "c-controller") != before
    world.give_up(1)
    world.settle()
    assert budget(world, "c-controller") == before


def test_a_claim_is_given_up_by_name_and_uid() -> None:
    world = World()
    world.settle()
    world.terminate(1)
    name = world.pods[1].claim
    for wrong in (name, f"{name}:another-uid", f":{world.claims[name].uid}"):
        world.cluster = replace(world.cluster, given_up_claims=frozenset({wrong}))
        world.edit(image={"repository": "kafka", "tag": "2"})
        world.settle()
        assert 1 not in world.restarts, wrong
    world.give_up(1)
    world.settle()
    assert 1 in world.restarts


def test_several_claims_are_named_in_one_annotation() -> None:
    asked = resource()
    asked["metadata"] |= {"annotations": {"kraft.quorate.dev/give-up-claims": "a:1, b:2,"}}  # type: ignore[operator]
    assert parse_cluster(asked).given_up_claims == {"a:1", "b:2"}


def test_the_resource_is_stalled_and_the_message_names_what_to_do() -> None:
    world = World()
    world.settle()
    world.terminate(100)
    world.terminate(2)
    decision = world.settle()
    told = status(world.cluster, world.observed(), decision, {}, "")
    found = {each["type"]: each for each in told["conditions"]}
    assert (found["StorageHealthy"]["status"], found["StorageHealthy"]["reason"]) == ("False", "ClaimTerminating")
    assert (found["Stalled"]["status"], found["Stalled"]["reason"]) == ("True", "ClaimTerminating")
    for each in (2, 100):
        claim = world.pods[each].claim
        assert f"{claim}:{world.claims[claim].uid}" in found["Stalled"]["message"]


def test_a_pod_whose_disk_was_seen_to_be_empty_keeps_nothing() -> None:
    world = World(recoveryPolicy={"lostDisk": "Report"})
    world.settle()
    world.wipe(101)
    world.settle()
    world.terminate(101)
    assert "ClaimTerminating" not in {each.reason for each in world.settle().findings}


def test_the_ledger_lost_meanwhile_is_rebuilt_and_what_to_do_is_said_as_before() -> None:
    world = World()
    world.settle()
    world.terminate(100)
    world.terminate(2)
    world.lose_ledger()
    assert "LedgerRebuilt" in {each.reason for each in world.reconcile().findings}
    decision = world.settle()
    told = status(world.cluster, world.observed(), decision, {}, "")
    found = {each["type"]: each for each in told["conditions"]}
    assert (found["Stalled"]["status"], found["Stalled"]["reason"]) == ("True", "ClaimTerminating")
    world.edit(image={"repository": "kafka", "tag": "2"})
    world.settle()
    assert not {2, 100} & set(world.restarts), "their pods alone keep their data"


def test_claims_of_an_earlier_resource_of_the_name_go_before_anything_is_made() -> None:
    world = World()
    world.settle()
    world.terminate(100)
    world.lose_ledger()
    world.children.clear()  # those of another resource are not seen as ours
    decision = world.reconcile()
    assert ([each.reason for each in decision.findings], decision.actions) == (["WaitingForDeletion"], ())
