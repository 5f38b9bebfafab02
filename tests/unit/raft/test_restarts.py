"""What a replica is after a restart (kraft-facts 3.2), from what its disk says of the last epoch."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant, NodeId
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.roles import Candidate, Follower, RaftRole, Resigned, Unattached
from support.nodes.one_replica import One, key

pytestmark = pytest.mark.unit

VOTERS = (1, 2, 3)
OTHERS = (2, 3, 4)


@pytest.mark.parametrize(
    ("voters", "leader", "voted", "role", "knows"),
    [
        (VOTERS, None, None, Unattached, None),
        (VOTERS, None, 3, Unattached, None),
        (VOTERS, None, 1, Candidate, None),
        (VOTERS, 1, 1, Resigned, 1),
        (VOTERS, 2, 3, Follower, 2),
        (VOTERS, 2, 1, Follower, 2),
        (VOTERS, 9, None, Unattached, 9),
        (OTHERS, None, 1, Unattached, None),
        (OTHERS, 1, 1, Unattached, None),
        (OTHERS, 2, None, Follower, 2),
        (OTHERS, 9, None, Unattached, 9),
    ],
)
def test_a_restart_goes_on_in_the_epoch_that_is_on_disk(
    voters: tuple[int, ...], leader: int | None, voted: int | None, role: type[RaftRole], knows: int | None
) -> None:
    """Never as its leader: who led it resigns, and if it is no voter any more it knows nobody to follow."""
    led_by = None if leader is None else NodeId(leader)
    saved = ElectionState(Epoch(7), led_by, None if voted is None else key(voted), 1)
    one = One(voters, ((4, 5),), saved)
    q = one.replica._q
    assert (type(one.role), one.epoch, q.leader_id) == (role, 7, knows)
    assert q.vote_in(Epoch(7)) == (None if voted is None else key(voted)), "a promise"


def test_a_log_of_a_later_epoch_says_that_the_disk_forgot_it() -> None:
    one = One(log=((4, 8),), saved=ElectionState(Epoch(7), NodeId(2), key(3), 1))
    assert isinstance(one.role, Unattached)
    assert (one.role.epoch, one.role.leader_id, one.role.voted) == (8, None, None)


def test_a_first_election_comes_sooner_than_later_ones_which_take_up_to_twice_their_timeout() -> None:
    """Uniform in [T, 2T): half of it here."""
    began = Instant(1000.0)
    fresh = One(config={"first_election_timeout_ms": 200}).role
    assert isinstance(fresh, Unattached)
    assert fresh.election_deadline - began == pytest.approx(0.3)
    for voted, leader in ((key(1), None), (key(1), NodeId(1))):
        role = One(saved=ElectionState(Epoch(7), leader, voted, 1), config={"election_timeout_ms": 400}).role
        assert isinstance(role, Candidate | Resigned)
        assert role.election_deadline - began == pytest.approx(0.6)
