"""What is not certain of a voter permits nothing: neither its removal as lost, nor a restart that could cost the
majority.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.actions import RemoveVoter
from kraft_operator.observed import Quorum, QuorumState, QuorumVoter, VoterState
from kraft_operator.plan import headroom
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Situation
from support.operator_model.world import IMAGES, World

pytestmark = pytest.mark.unit


def quorum(*states: VoterState) -> Quorum:
    voters = tuple(QuorumVoter(node_id, f"d{node_id}", 10, state) for node_id, state in enumerate(states))
    return Quorum(QuorumState.AVAILABLE, "", 0, 1, 10, voters, proven=True)


def test_a_voter_of_which_nothing_certain_is_known_is_restarted_only_if_the_others_are_a_majority() -> None:
    assert headroom.restart(quorum(VoterState.LIVE, VoterState.LIVE, VoterState.UNKNOWN), 2).open
    assert not headroom.restart(quorum(VoterState.LIVE, VoterState.LAGGING, VoterState.UNKNOWN), 2).open
    assert headroom.restart(quorum(VoterState.LIVE, VoterState.LAGGING, VoterState.DEAD), 2).open


@pytest.mark.parametrize("state", list(VoterState))
def test_a_lost_voter_is_removed_only_when_it_is_dead_to_the_quorum(state: VoterState) -> None:
    world = World()
    world.settle()
    world.wipe(2)
    for _ in range(3):
        world.kubelet()
        world.plan()
    seen = world.observed()
    voters = tuple(replace(each, state=state) if each.node_id == 2 else each for each in seen.quorum.voters)
    seen = replace(seen, quorum=replace(seen.quorum, voters=voters))
    waited = dict.fromkeys(world.waited, 60.0)
    assert waited
    found = plan(Situation(world.cluster, seen, world.ledger, world.fence, world.draw, IMAGES, waited=waited))
    assert any(isinstance(each, RemoveVoter) for each in found.actions) == (state is VoterState.DEAD)
