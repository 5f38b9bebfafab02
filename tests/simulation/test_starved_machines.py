"""A machine that does not run its nodes for longer than the fetch timeout: nobody was silent, so nobody is elected.

Listen before you believe the time (`node.pump`): what has arrived is heard first, and a node that was held up itself
does not count the time in which it was not there to hear, or to answer, anybody.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from support.simulation.stage import Stage

pytestmark = pytest.mark.simulation

SECONDS = 4.0


def epoch_of(stage: Stage, node: NodeId) -> int:
    found = stage.machine(node).node
    assert found is not None
    return found.meta.replica.epoch


@pytest.mark.parametrize("seed", [1, 2])
def test_a_machine_that_slept_with_all_its_nodes_wakes_with_the_leader_that_it_had(seed: int) -> None:
    stage = Stage(seed, 3)
    stage.wait_for_progress(5)
    leader = stage.wait_for_leader()
    epoch = epoch_of(stage, leader)
    for _ in range(3):
        for node in stage.nodes:
            stage.world.pause(node, SECONDS)
        stage.for_a_while(SECONDS + 5.0)
    assert (stage.leader(), epoch_of(stage, leader)) == (leader, epoch)
    stage.wait_for_progress(5)
    stage.wait_until_all_agree()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_leader_that_is_gone_when_its_followers_wake_is_succeeded(seed: int) -> None:
    stage = Stage(seed, 3)
    stage.wait_for_progress(5)
    leader = stage.wait_for_leader()
    for node in stage.nodes:
        stage.world.pause(node, SECONDS)
    stage.for_a_while(SECONDS / 2)
    stage.world.kill(leader, power_loss=True)
    stage.wait_for_leader(leader)
    stage.wait_for_progress(5)
