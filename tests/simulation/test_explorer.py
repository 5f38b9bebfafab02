"""Every state that three replicas can reach within small bounds keeps the properties of KRaft.tla (kraft-facts 5.14).

NeverTwoLeadersInSameEpoch, NoLogDivergence, LeaderHasAllAckedValues, CommittedEntriesReachMajority, StatesMatchRoles.
`make soak` widens the bounds.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft import election, replication
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader
from support.simulation.explorer import Bounds, Broken, explore, summary

pytestmark = pytest.mark.simulation

SOAK = bool(os.environ.get("QUORATE_SOAK"))
WHOLE = [
    Bounds(nodes=2, epochs=1, timeouts=2, records=1, crashes=1),
    Bounds(nodes=3, epochs=1, timeouts=1, records=0, crashes=0),
]
"""All that two nodes with a crash, and three with one candidate, can come to (14,701 states) is visited."""
SMALL = [
    *WHOLE,
    Bounds(nodes=3, epochs=2, timeouts=3, records=3, crashes=1, max_states=15_000),
]
LARGE = [
    *WHOLE,
    Bounds(nodes=3, epochs=1, timeouts=1, records=1, crashes=0, max_states=1_500_000),
    Bounds(nodes=3, epochs=2, timeouts=3, records=3, crashes=1, losses=1, slow_disks=True, max_states=1_500_000),
]
"""`make soak` goes further, up to a number of states: some twelve minutes each on a quiet processor (2,000 states a
second).
"""


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("bounds", LARGE if SOAK else SMALL, ids=str)
def test_every_reachable_state_keeps_the_properties(bounds: Bounds, sampled: Callable[[str], None]) -> None:
    explorer = explore(bounds)
    sampled(summary(explorer))
    assert explorer.complete or explorer.states >= bounds.max_states


def test_the_explorer_notices_a_vote_for_two_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "is_same_vote", lambda *_: True)
    with pytest.raises(Broken, match="two leaders of epoch 1"):
        explore(Bounds(nodes=3, epochs=1, timeouts=2, records=0, crashes=0, max_states=200_000))


def test_the_explorer_notices_a_commit_that_no_majority_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        for progress in leader.voters.values():
            progress.end_offset = Offset(q.log.end_offset)
        original(q, leader)

    monkeypatch.setattr(replication, "advance_leader", advance)
    with pytest.raises(Broken, match="on the disks of"):
        explore(Bounds(nodes=3, epochs=1, timeouts=1, records=1, crashes=0, max_states=200_000))
