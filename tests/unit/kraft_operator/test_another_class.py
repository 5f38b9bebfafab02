"""A node whose disk is replaced while the resource asks for another class: its old claim goes last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.actions import ApplyChild, DiscardClaim, OrphanSet
from support.operator_model.world import World

pytestmark = pytest.mark.unit


def on_class(name: str, **more: object) -> dict[str, object]:
    storage = {"size": "1Gi", "overrides": [{"nodeID": 2, "storageClassName": name}]}
    return {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": storage, **more}


def about_to_go(name: str) -> World:
    """A voter was removed and written off by request, and its pod waits at the gate with the old disk."""
    world = World()
    world.settle()
    world.edit(controllers=on_class(name))
    world.ask("move", "ReplaceVoter", 2)
    for _ in range(40):
        if any(isinstance(each, (OrphanSet, DiscardClaim)) for each in world.plan().actions):
            return world
        world.reconcile()
        world.kubelet()
    raise AssertionError("nothing takes the claim away")


def last_steps(world: World) -> list[str]:
    return [type(each).__name__ for each in world.plan().actions if isinstance(each, (OrphanSet, DiscardClaim))]


def test_the_set_is_made_anew_before_the_claim_goes() -> None:
    world = about_to_go("fast")
    assert last_steps(world) == ["OrphanSet"]
    world.reconcile()
    steps = [each for each in world.reconcile().actions if isinstance(each, (ApplyChild, DiscardClaim))]
    assert [type(each) for each in steps] == [ApplyChild, DiscardClaim]
    assert world.sets[2].volume_kind == ("fast", "")


def test_the_claim_waits_until_kubernetes_has_taken_the_old_set_away() -> None:
    world = about_to_go("fast")
    world.sets[2] = replace(world.sets[2], terminating=True)
    assert last_steps(world) == []


def test_a_class_that_the_claim_has_already_needs_no_second_deletion_of_the_set() -> None:
    """`standard` is the default here: the set is made anew for the name alone, and that once."""
    world = World()
    world.settle()
    world.edit(controllers=on_class("standard"))
    assert last_steps(world) == ["OrphanSet"]
    world.settle()
    world.ask("move", "ReplaceVoter", 2)
    world.settle(60)
    assert world.sets[2].volume_kind == ("standard", "")
    assert not last_steps(world)


def test_of_a_combined_node_the_claim_is_named_because_no_operation_takes_its_disk() -> None:
    world = World(controllers=on_class("standard", role="Combined"), brokerPools=[])
    world.settle(80)
    world.edit(controllers=on_class("fast", role="Combined"), brokerPools=[])
    told = next(each for each in world.plan().findings if each.reason == "VolumeOfAnotherClass")
    assert told.message.startswith("delete claim data-c-controller-2-0, to have a disk of class fast")
