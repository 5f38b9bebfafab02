"""Laying out the way of a large cluster costs much: in between, what was published stays, as long as that is what is
done.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.memory import WAY_PATIENCE, Memory
from kraft_operator.plan.rules import plan
from kraft_operator.plan.steps import Outline, StepState
from support.operator_model.world import World

pytestmark = pytest.mark.unit

NEWER = {"image": {"repository": "kafka", "tag": "2"}}


def rolling() -> World:
    """The first of five pods is being restarted."""
    world = World()
    world.settle()
    world.edit(**NEWER)
    while not world.restarts:
        world.reconcile()
        world.kubelet()
    return world


def kept(world: World) -> Outline:
    """What a look publishes that does not lay out the way."""
    return plan(replace(world.situation(), lays_out=False)).outline


def ids(outline: Outline) -> list[str]:
    return [each.id for each in outline.ahead]


def test_between_two_layings_out_the_published_steps_stay_and_their_states_go_on() -> None:
    world = rolling()
    before = world.published
    for _ in range(6):
        world.kubelet()
    world.plan()
    assert len(ids(world.published)) < len(ids(before))  # laid out anew, one restart is done
    world.published = before
    outline = kept(world)
    assert (outline.hash, ids(outline)) == (before.hash, ids(before))
    assert [each.id for each in outline.steps if each.state is StepState.RUNNING] == ["restart/2"]


def test_another_goal_is_laid_out_at_once() -> None:
    world = rolling()
    before = world.published
    world.edit()
    assert kept(world).hash not in ("", before.hash)


def test_a_step_that_was_not_announced_is_laid_out_at_once() -> None:
    world = rolling()
    before = world.published
    for _ in range(6):
        world.kubelet()
    world.plan()
    world.published = replace(before, steps=tuple(each for each in before.steps if each.id != "restart/2"))
    assert "restart/2" in ids(kept(world))


def test_when_nothing_is_left_to_do_the_plan_ends_at_once() -> None:
    world = rolling()
    before = world.published
    world.settle(200)
    world.published = before
    assert kept(world).steps == ()


def test_the_way_is_laid_out_the_less_often_the_more_it_costs() -> None:
    memory = Memory("uid")
    assert memory.way_due <= 0.0
    memory.note_plan(0.1, 50.0)
    assert memory.way_due == 50.0
    memory.note_plan(2.0, 100.0)
    assert memory.way_due == 100.0 + 2.0 * WAY_PATIENCE
