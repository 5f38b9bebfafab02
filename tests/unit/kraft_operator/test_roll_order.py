"""Who is restarted next: controllers before brokers, also while nobody can tell yet whether the first of them serves
with the new revision.
"""

from __future__ import annotations

import pytest

from kraft_operator.actions import RestartPod
from kraft_operator.plan.situation import Decision, Topic
from support.operator_model.world import World

pytestmark = pytest.mark.unit


def first_controller_is_back() -> World:
    """Both groups have a new revision; one controller runs with it, all voters are live, and only the operator has not
    looked twice yet.
    """
    world = World()
    world.settle()
    world.edit(config={"common": {"num.io.threads": "4"}})
    while 1 not in world.restarts:
        world.reconcile()
    while world.kubelet():
        pass
    world.before = None
    return world


def restarted(decision: Decision) -> list[str]:
    return [each.pod for each in decision.actions if isinstance(each, RestartPod)]


def test_brokers_wait_while_a_controller_waits_for_the_first_of_them() -> None:
    decision = first_controller_is_back().plan()
    assert restarted(decision) == []
    (found,) = (each for each in decision.findings if each.topic is Topic.ROLLOUT)
    assert found.reason == "RestartDeferred"
    assert "c-controller-0-0, c-controller-2-0 wait: c-controller-1-0 tries the new revision first" in found.message
    assert "c-b-100-0, c-b-101-0 wait: controllers come first" in found.message


def test_a_broker_that_is_not_ready_waits_for_no_controller() -> None:
    world = first_controller_is_back()
    world.freeze(100)
    assert restarted(world.plan()) == ["c-b-100-0"]


def test_then_the_next_controller_is_restarted() -> None:
    world = first_controller_is_back()
    world.plan()
    assert restarted(world.plan())[0].startswith("c-controller-")
