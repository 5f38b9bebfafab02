"""An upgrade of the operator brings other guards: no pod is restarted for it, and whatever starts anyway gets them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.manifests.context import Images
from support.operator_model.world import IMAGES, World

pytestmark = pytest.mark.unit

NEW = replace(IMAGES, operator="operator:next")


@pytest.fixture
def world() -> World:
    found = World()
    found.settle()
    return found


def upgraded(world: World, images: Images = NEW) -> None:
    """Another process with these images takes over."""
    world.images, world.fence = images, replace(world.fence, transitions=world.fence.transitions + 1)
    world.settle()


def guards(world: World) -> dict[int, str]:
    return {node_id: pod.guards for node_id, pod in world.pods.items()}


@pytest.mark.parametrize("mode", ["Apply", "Plan"])
def test_other_guards_restart_no_pod_and_a_pod_that_starts_anyway_gets_them(mode: str) -> None:
    world = World(changePolicy={"mode": mode})
    world.plan()
    for _ in range(2):
        world.approve()
        world.settle()
    before = {node_id: pod.uid for node_id, pod in world.pods.items()}
    assert len(before) == 5
    upgraded(world)
    world.approve()
    decision = world.settle()
    assert {node_id: pod.uid for node_id, pod in world.pods.items()} == before
    assert not [each for each in decision.outline.ahead if each.action == "RestartPod"]
    assert set(guards(world).values()) == {IMAGES.operator}
    del world.pods[1], world.pods[100]
    world.settle()
    assert {node_id for node_id, image in guards(world).items() if image == NEW.operator} == {1, 100}
    assert world.restarts == []


def test_the_next_roll_brings_them_to_everybody(world: World) -> None:
    upgraded(world)
    world.edit(config={"controller": {"num.io.threads": "4"}, "broker": {"num.io.threads": "4"}})
    world.settle()
    assert set(guards(world).values()) == {NEW.operator}
    assert sorted(world.restarts) == [0, 1, 2, 100, 101]


def test_a_node_whose_guards_cannot_start_gets_the_next_ones_and_nobody_else_does(world: World) -> None:
    world.bad_images.add(NEW.operator)
    upgraded(world)
    del world.pods[1]
    world.settle()
    assert (world.pods[1].stage, world.pods[1].guards) == ("inspect", NEW.operator)
    upgraded(world, replace(IMAGES, operator="operator:mended"))
    assert (world.pods[1].stage, world.pods[1].guards) == ("running", "operator:mended")
    assert world.restarts == [1]
