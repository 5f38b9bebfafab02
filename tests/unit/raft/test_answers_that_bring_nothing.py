"""Answers from which nothing is taken, and what is asked next: at once where it helps, after a pause where
it does not.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId, Offset
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft import replica
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.epoch_claims import LAST_EPOCH
from controller_runtime.raft.events import Tick
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Follower, Prospective
from support.nodes.one_replica import One, batch, endpoint, key, listeners

pytestmark = pytest.mark.unit


def records(epoch: int, leader: int) -> m.FetchResponse:
    took = (batch(4, 5, min(epoch, 5)),)
    return m.FetchResponse(RaftError.NONE, Epoch(epoch), NodeId(leader), Offset(4), batches=took)


@pytest.mark.parametrize(
    "useless",
    [records(4, 2), records(5, 3), records(LAST_EPOCH, 2)],
    ids=["of an earlier epoch", "of another leader", "of an epoch that cannot be"],
)
def test_records_that_do_not_come_from_this_leader_in_this_epoch_are_not_taken(useless: m.FetchResponse) -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    (asked,) = one.asked(m.FetchRequest)
    one.answer(asked, useless)
    assert (one.seen(e.Append), one.end, one.replica.high_watermark) == ([], 4, None)
    assert (one.epoch, one.replica.leader_id) == (5, 2)
    one.elapse(19)
    assert [send.to for send in one.asked(m.FetchRequest)] == [3], "the leader would only say it again"
    one.elapse(1)
    assert [send.to for send in one.asked(m.FetchRequest)] == [2, 3]


def test_a_bootstrap_server_that_turns_out_to_lead_is_followed_without_a_pause() -> None:
    one = One(voters=(1,), bootstrap=(9,), saved=ElectionState(Epoch(4)), can_vote=False)
    one.ask(m.BeginQuorumEpochRequest(NodeId(9), Epoch(4), (), key(1)))
    assert one.replica.leader_id == 9
    (asked,) = one.asked(m.FetchRequest)
    one.answer(asked, m.FetchResponse(RaftError.NONE, Epoch(4), NodeId(9), leader_endpoint=endpoint(9)))
    assert isinstance(one.role, Follower)
    assert one.replica.leader_listeners == listeners(9)
    assert [(send.to, send.endpoint) for send in one.asked(m.FetchRequest)] == [(9, endpoint(9))]


def test_of_more_than_64_destinations_that_failed_only_those_that_are_still_left_alone_are_remembered() -> None:
    one = One()
    calls = one.replica._q.calls
    servers = [Endpoint(f"s{number}", 1) for number in range(80)]
    for number, server in enumerate(servers):
        calls.pause(server, e.Lane.FETCH, Instant(one.now + (number - 70) / 1000))
    one.step(Tick())
    assert [calls.ready_at(server, e.Lane.FETCH) is not None for server in servers] == [False] * 71 + [True] * 9


def test_an_error_in_place_of_a_vote_refuses_nothing_and_is_asked_again_after_a_pause() -> None:
    """As Kafka repeats a Vote whose answer it does not expect."""
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    for send in one.asked(m.VoteRequest):
        one.answer(send, m.VoteResponse(RaftError.INVALID_VOTER_KEY, Epoch(4), None, granted=False))
    assert isinstance(one.role, Prospective)
    assert (one.role.ballot.rejected, one.asked(m.VoteRequest)) == (set(), [])
    one.elapse(25)
    assert [send.to for send in one.asked(m.VoteRequest)] == [2, 3]


def test_versions_are_not_asked_of_the_consensus() -> None:
    with pytest.raises(AssertionError, match="without its consensus"):
        One().ask(m.ApiVersionsRequest())


def test_roles_that_lead_to_one_another_for_ever_are_a_bug_that_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sole voter passes through three roles in one step: more than the two that are allowed here."""
    monkeypatch.setattr(replica, "MAX_TURNS", 2)
    with pytest.raises(AssertionError, match="the roles chase each other"):
        One(voters=(1,))
