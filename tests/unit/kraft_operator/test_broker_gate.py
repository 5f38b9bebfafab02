"""What keeps a broker from its restart is told whole: who does not serve, and which partitions would have too few
replicas in sync.
"""

from __future__ import annotations

import pytest

from kraft_operator.actions import RestartPod
from kraft_operator.plan.situation import Topic
from support.operator_model.world import World

pytestmark = pytest.mark.unit


def outdated() -> World:
    world = World()
    world.settle()
    world.edit(config={"broker": {"num.io.threads": "4"}})
    world.reconcile()  # the templates are new, the pods are not
    world.restarts.clear()
    return world


def told(world: World) -> str:
    """What the next pass says of the rollout while it restarts nobody."""
    decision = world.plan()
    assert not [each for each in decision.actions if isinstance(each, RestartPod)]
    (found,) = (each for each in decision.findings if each.topic is Topic.ROLLOUT)
    assert found.reason == "RestartDeferred"
    return found.message


def test_partitions_with_too_few_replicas_in_sync_close_the_gate() -> None:
    world = outdated()
    world.at_risk = {100: ("steady-0", "steady-1")}
    assert "c-b-100-0 waits for its restart: steady-0, steady-1 would have too few replicas in sync;" in told(world)


def test_a_broker_that_does_not_serve_is_told_together_with_its_partitions() -> None:
    world = outdated()
    world.at_risk = {100: ("steady-0",)}
    world.registered.discard(101)
    message = told(world)
    assert "broker 101 does not serve, and steady-0 would have too few replicas in sync;" in message


def test_the_gate_opens_when_all_replicas_are_in_sync_again() -> None:
    world = outdated()
    world.at_risk = {100: ("steady-0",)}
    told(world)
    world.at_risk = {}
    world.reconcile()
    assert world.restarts == [100]
