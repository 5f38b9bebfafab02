"""A disk that takes half a second for every sync costs its own node time, and nobody an election: the loop never waits
for a disk.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from support.simulation.machine import Machine
from support.simulation.stage import Stage

pytestmark = pytest.mark.simulation

SYNC_SECONDS = 0.5
LONGER_THAN_A_FETCH = 2.5


def make_slow(stage: Stage, slow: set[NodeId]) -> None:
    usual = stage.world.disk_delay

    def delay(machine: Machine) -> float:
        return SYNC_SECONDS if machine.id in slow else usual(machine)

    stage.world.disk_delay = delay  # type: ignore[method-assign]


@pytest.mark.parametrize("who", ["the leader", "a follower", "both followers", "everybody"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 6))])
def test_syncs_of_half_a_second_cause_no_election(seed: int, who: str) -> None:
    stage = Stage(seed, 3)
    stage.wait_for_progress(5)
    leader = stage.wait_for_leader()
    followers = [node for node in stage.nodes if node != leader]
    slow = {"the leader": [leader], "a follower": followers[:1], "both followers": followers}.get(who, [*stage.nodes])
    make_slow(stage, set(slow))
    epoch = stage.machine(leader).node.meta.replica.epoch  # type: ignore[union-attr]
    stage.for_a_while(15.0)
    stage.wait_for_progress(5)
    found = stage.machine(leader).node
    assert found is not None
    assert (stage.leader(), found.meta.replica.epoch) == (leader, epoch)
    stage.wait_until_all_agree()


@pytest.mark.parametrize("who", ["both followers", "everybody"])
def test_a_follower_that_waits_for_its_own_disk_does_not_take_its_leader_for_silent(who: str) -> None:
    """A sync takes longer than the fetch timeout, as of a disk that many share."""
    stage = Stage(1, 3)
    stage.wait_for_progress(5)
    leader = stage.wait_for_leader()
    found = stage.machine(leader).node
    assert found is not None
    epoch, slow = found.meta.replica.epoch, {*stage.nodes} - ({leader} if who == "both followers" else set())
    stage.world.disk_delay = lambda machine: LONGER_THAN_A_FETCH if machine.id in slow else 0.001  # type: ignore[method-assign]
    stage.for_a_while(30.0)
    assert (stage.leader(), found.meta.replica.epoch) == (leader, epoch)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_slow_voter_does_not_hold_up_commits_of_the_others(seed: int) -> None:
    stage = Stage(seed, 3)
    stage.wait_for_progress(5)
    leader = stage.wait_for_leader()
    fast = stage.client.acknowledged
    stage.for_a_while(10.0)
    fast = stage.client.acknowledged - fast
    make_slow(stage, {next(node for node in stage.nodes if node != leader)})
    before = stage.client.acknowledged
    stage.for_a_while(10.0)
    assert stage.client.acknowledged - before > fast * 0.7
