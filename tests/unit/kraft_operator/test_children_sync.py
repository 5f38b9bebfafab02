"""When a child is applied and when not: nothing is written that would change nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from kraft_operator.actions import ApplyChild, DeleteChild
from kraft_operator.observed import Child
from kraft_operator.plan.rollout.children import contained, fingerprint, sync_children
from kraft_operator.plan.situation import Situation
from support.operator_model.world import IMAGES, World, pool

pytestmark = pytest.mark.unit


def situation(world: World) -> Situation:
    return Situation(
        world.cluster, world.observed(), world.ledger, world.fence, world.draw, IMAGES, nodes=world.plan().nodes
    )


def actions(world: World, **changes: Any) -> list[ApplyChild | DeleteChild]:
    return list(sync_children(replace(situation(world), **changes)).actions)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    found = World()
    found.settle()
    return found


def edit(world: World, kind: str, name: str, change: dict[str, Any]) -> Child:
    child = world.children[kind, name]
    live = copy.deepcopy(dict(child.live))
    live["spec"] |= change
    world.children[kind, name] = replace(child, live=live)
    return world.children[kind, name]


def test_a_child_that_is_as_it_should_be_is_left_alone(world: World) -> None:
    assert actions(world) == []


def test_defaults_that_the_server_added_are_no_difference(world: World) -> None:
    edit(world, "Service", "c-nodes", {"sessionAffinity": "None", "ipFamilies": ["IPv4"]})
    assert actions(world) == []


def test_a_field_somebody_changed_is_put_back(world: World) -> None:
    edit(world, "Service", "c-nodes", {"publishNotReadyAddresses": False})
    assert [(type(each), each.manifest["metadata"]["name"]) for each in actions(world)] == [(ApplyChild, "c-nodes")]  # type: ignore[union-attr]


def test_a_missing_child_is_made(world: World) -> None:
    del world.children["ConfigMap", "c-controller-1"]
    assert [each.reason for each in actions(world)] == ["it is missing"]


def test_a_child_nobody_wants_goes_with_its_uid(world: World) -> None:
    stray = replace(world.children["Service", "c-nodes"], name="c-old", uid="u7")
    world.children["Service", "c-old"] = stray
    assert actions(world) == [DeleteChild("v1", "Service", "c-old", "u7", "nothing wants it any more")]


def test_the_ledger_is_never_deleted(world: World) -> None:
    ledger = replace(world.children["ConfigMap", "c-b-100"], name="c-ledger", live={"metadata": {"labels": {}}})
    world.children["ConfigMap", "c-ledger"] = ledger
    assert actions(world) == []


def test_brokers_of_a_pool_that_vanished_from_the_resource_are_left_alone(world: World) -> None:
    world.edit(brokerPools=[pool("other", 1, 200)])
    decision = world.plan()
    assert not [each for each in decision.actions if isinstance(each, DeleteChild) and "-b-" in each.name]
    assert "PoolRemoved" in [finding.reason for finding in decision.findings]


def test_a_rendering_of_the_server_that_we_cannot_foresee_is_remembered(world: World) -> None:
    child = edit(world, "Service", "c-nodes", {"publishNotReadyAddresses": "yes"})
    intent = actions(world)[0].manifest  # type: ignore[union-attr]
    settled = {("Service", "c-nodes"): fingerprint(intent, child.live)}
    assert actions(world, settled=settled) == []


@pytest.mark.parametrize(
    ("intent", "live"),
    [
        ("1000m", 1),
        ("0.5", "500m"),
        ("1Gi", "1Gi"),
        ("1024Mi", "1Gi"),
        ({}, None),
        ([], None),
        ("", None),
        ({"a": {}}, {}),
    ],
)
def test_the_same_in_other_words(intent: object, live: object) -> None:
    assert contained(intent, live)


@pytest.mark.parametrize(
    ("intent", "live"), [(True, "true"), (1, True), ([1], [1, 2]), ({"a": 1}, {}), ("2Gi", "1Gi"), ("x", None)]
)
def test_not_the_same(intent: object, live: object) -> None:
    assert not contained(intent, live)
