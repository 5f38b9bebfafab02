"""Pods that serve are restarted in maintenance windows only; what does not serve is nobody's loss and goes at once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kraft_operator.actions import RestartPod
from kraft_operator.plan.situation import Decision, Topic
from support.operator_model.world import World

pytestmark = pytest.mark.unit

WINDOWS = [{"days": ["Sunday"], "start": "02:00", "duration": "2h"}]
TUESDAY = datetime(2026, 11, 24, 12, tzinfo=UTC)
SUNDAY = datetime(2026, 11, 29, 2, 30, tzinfo=UTC)


def outdated(now: datetime) -> World:
    """A cluster that is as it was asked for, and gets another configuration on that day."""
    world = World()
    world.settle()
    world.date = now
    world.edit(config={"common": {"num.io.threads": "4"}}, rollout={"maintenanceWindows": WINDOWS})
    return world


def restarted(decision: Decision) -> list[str]:
    return [each.pod for each in decision.actions if isinstance(each, RestartPod)]


def passes(world: World, count: int = 6) -> list[Decision]:
    return [world.reconcile() for _ in range(count)]


def test_outside_of_every_window_nobody_is_restarted_and_it_is_said_until_when() -> None:
    world = outdated(TUESDAY)
    found = [each for each in passes(world)[-1].findings if each.topic is Topic.ROLLOUT]
    assert world.restarts == []
    assert [each.reason for each in found] == ["RestartDeferred"]
    assert "a maintenance window opens at 2026-11-29T02:00:00Z" in found[0].message


def test_the_way_ahead_shows_the_restarts_all_the_same() -> None:
    world = outdated(TUESDAY)
    passes(world)
    ahead = [step.target for step in world.published.steps if step.action == "RestartPod"]
    assert len(ahead) == len(world.pods)


def test_in_a_window_they_go_one_by_one_and_all_of_them() -> None:
    world = outdated(SUNDAY)
    world.settle()
    assert len(world.restarts) == len(world.pods)


def test_what_a_window_leaves_over_waits_for_the_next_one() -> None:
    world = outdated(SUNDAY)
    while not world.restarts:
        world.reconcile()
    world.date = TUESDAY
    begun = list(world.restarts)
    for _ in range(6):
        while world.kubelet():
            pass
        world.reconcile()
    assert world.restarts == begun


def test_what_does_not_serve_waits_for_no_window() -> None:
    world = outdated(TUESDAY)
    passes(world)
    world.freeze(101)
    world.date = TUESDAY
    assert restarted(world.plan()) == ["c-b-101-0"]
