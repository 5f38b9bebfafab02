"""Votes and pre-votes, one replica and everything that can be asked of it or answered to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.identifiers import Epoch, NodeId, ReplicaKey
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Failure, Resign, Tick
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Ballot, Candidate, Follower, Leader, Prospective, Resigned, Unattached
from support.nodes.one_replica import One, at, directory, key, vote

pytestmark = pytest.mark.unit


def voted(epoch: int, who: ReplicaKey) -> ElectionState:
    return ElectionState(Epoch(epoch), None, who, 1)


def told(one: One, request: m.VoteRequest) -> tuple[RaftError, bool]:
    answer = one.ask(request)
    assert isinstance(answer, m.VoteResponse)
    return answer.error, answer.granted


def test_a_vote_stored_without_a_directory_counts_for_the_node_id() -> None:
    """RFT-14."""
    stored = voted(4, key(2, no_disk=True))
    assert told(One(saved=stored), vote(2, 4, at(0, 0))) == (RaftError.NONE, True)
    assert told(One(saved=stored), vote(2, 4, at(0, 0), candidate=key(2, other_disk=True))) == (RaftError.NONE, True)
    assert told(One(saved=stored), vote(3, 4, at(0, 0))) == (RaftError.NONE, False)


def test_a_vote_stored_with_a_directory_counts_for_that_directory_alone() -> None:
    """RFT-13, RFT-14."""
    one = One(saved=voted(4, key(2)))
    assert told(one, vote(2, 4, at(0, 0), candidate=key(2, other_disk=True))) == (RaftError.NONE, False)
    assert told(one, vote(2, 4, at(0, 0))) == (RaftError.NONE, True)


@pytest.mark.parametrize(
    "receiver", [key(2), ReplicaKey(NodeId(1), directory(7))], ids=["another node", "another directory"]
)
def test_a_vote_meant_for_another_voter_is_refused_after_its_epoch_was_learnt(receiver: ReplicaKey) -> None:
    """RFT-18."""
    one = One()
    assert told(one, vote(2, 3, at(0, 0), to=receiver)) == (RaftError.INVALID_VOTER_KEY, False)
    assert one.epoch == 3
    assert told(one, vote(2, 3, at(0, 0), to=key(1))) == (RaftError.NONE, True)


@pytest.mark.parametrize(
    "request_of",
    [
        vote(2, -1, at(0, 0)),
        vote(2, 5, at(-1, 0)),
        vote(2, 5, at(0, -1)),
        vote(-1, 5, at(0, 0)),
        vote(2, 5, at(9, 5)),
        vote(2, 5, at(9, 6)),
        vote(2, 5, at(9, 6), pre=True),
    ],
    ids=["epoch", "offset", "last epoch", "candidate", "log of this epoch", "log of a later epoch", "pre-vote of it"],
)
def test_impossible_votes_are_refused_and_change_nothing(request_of: m.VoteRequest) -> None:
    """RFT-19."""
    one = One()
    assert told(one, request_of) == (RaftError.INVALID_REQUEST, False)
    assert (one.epoch, type(one.role)) == (0, Unattached)


def test_a_pre_vote_may_have_a_log_of_its_own_epoch() -> None:
    """RFT-19: the asker has not raised its epoch yet."""
    one = One(log=((3, 5),), saved=ElectionState(Epoch(5)))
    assert told(one, vote(2, 5, at(3, 5), pre=True)) == (RaftError.NONE, True)


def test_election_timers_lie_between_once_and_twice_the_timeout() -> None:
    """RFT-22."""
    for jitter in (0.0, 0.5, 0.999):
        one = One(jitter=jitter)
        one.ask(vote(2, 3, at(0, 0)))
        assert isinstance(one.role, Unattached)
        assert 1.0 <= one.role.election_deadline - one.now < 2.0
        assert one.role.election_deadline - one.now == pytest.approx(1.0 + jitter)


def test_a_candidate_that_hears_of_a_higher_epoch_keeps_its_timer() -> None:
    """RFT-22."""
    one = One()
    one.become_candidate()
    assert isinstance(one.role, Candidate)
    due = one.role.election_deadline
    told(one, vote(3, one.epoch + 1, at(0, 0), to=key(2)))
    assert isinstance(one.role, Unattached)
    assert one.role.election_deadline == due


def test_a_candidate_that_lost_waits_and_then_asks_again_whether_it_could_win() -> None:
    """RFT-23."""
    one = One()
    one.become_candidate()
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Candidate)
    assert not one.asked(m.VoteRequest), "it asks nobody while it waits"
    deadline = one.role.election_deadline
    one.elapse((deadline - one.now) * 1000 + 1)
    assert isinstance(one.role, Prospective)
    assert one.epoch == 1, "asking raises no epoch"
    assert all(isinstance(send.request, m.VoteRequest) and send.request.pre_vote for send in one.asked(m.VoteRequest))


def test_repeated_answers_change_nothing_and_a_grant_stays_a_grant() -> None:
    """RFT-24."""
    one = One(voters=(1, 2, 3, 4, 5))
    one.stand()
    one.grant(2, 3)
    assert isinstance(one.role, Candidate)
    one.grant(2)
    one.role.ballot.record(NodeId(2), granted=False)
    one.role.ballot.record(NodeId(2), granted=True)
    assert (one.role.ballot.granted, one.role.ballot.rejected) == ({1, 2}, set())
    one.grant(3)
    assert isinstance(one.role, Leader)
    ballot = Ballot(unreachable={NodeId(2)})
    for granted in (False, False, True, False, True):
        ballot.record(NodeId(2), granted=granted)
    assert ballot == Ballot(granted={NodeId(2)}), "who refuses may think better of it, and who answers is reached"


def test_only_members_of_the_voter_set_count() -> None:
    """RFT-25: node 9 was a voter when it was asked."""
    one = One(voters=(1, 2, 3, 4, 5))
    one.stand()
    one.grant(2, 3)
    assert isinstance(one.role, Candidate)
    one.role.ballot.granted |= {NodeId(8), NodeId(9)}
    one.step(Tick())
    assert isinstance(one.role, Candidate), "two strangers and itself are no majority of five"
    one.grant(2, 3)
    assert isinstance(one.role, Leader)


def test_late_answers_to_a_vote_are_ignored() -> None:
    """RFT-26."""
    one = One()
    one.become_candidate()
    late = one.asked(m.VoteRequest)
    one.follow(2, one.epoch)
    for send in late:
        one.calls[send.call] = send
        one.answer(send, m.VoteResponse(RaftError.NONE, one.epoch, None, True))
    assert isinstance(one.role, Follower)


def test_a_vote_without_an_answer_is_asked_for_again() -> None:
    """RFT-27."""
    one = One()
    one.stand()
    first = one.asked(m.VoteRequest)
    assert {send.to for send in first} == {2, 3}
    for send in first:
        assert send.timeout_ms == 2000
        one.fail(send, Failure.TIMED_OUT)
    assert not one.asked(m.VoteRequest), "not before the back-off"
    one.elapse(20)
    assert {send.to for send in one.asked(m.VoteRequest)} == {2, 3}


def test_a_follower_that_hears_nothing_asks_whether_it_could_win() -> None:
    """RFT-28."""
    one = One()
    one.follow(2, 3)
    one.elapse(1999)
    assert isinstance(one.role, Follower)
    one.elapse(1)
    assert isinstance(one.role, Prospective)
    assert (one.epoch, one.role.leader_id) == (3, 2)
    assert {send.to for send in one.asked(m.VoteRequest)} == {2, 3}


def test_an_observer_that_hears_nothing_does_not_ask() -> None:
    """RFT-09, RFT-28."""
    one = One(can_vote=False)
    one.follow(2, 3)
    one.elapse(60_000)
    assert isinstance(one.role, Follower)
    assert not one.asked(m.VoteRequest)


def test_who_is_not_encouraged_returns_to_its_leader() -> None:
    """PV-03: the leader is known and can be reached."""
    one = One()
    one.follow(2, 3)
    one.elapse(2000)
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Follower)
    assert (one.role.leader_id, one.epoch) == (2, 3)


def test_who_is_not_encouraged_and_knows_no_leader_follows_nobody() -> None:
    """PV-03."""
    one = One()
    one.stand()
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Unattached)
    assert (one.epoch, one.role.leader_id) == (0, None)


def test_who_gets_no_answer_in_time_gives_up_too() -> None:
    """PV-03."""
    one = One()
    one.stand()
    assert isinstance(one.role, Prospective)
    deadline = one.role.election_deadline
    while one.now < deadline and isinstance(one.role, Prospective):
        one.elapse(100)
    assert isinstance(one.role, Unattached)


def unattached() -> One:
    return One(log=((5, 2),), saved=ElectionState(Epoch(4)))


def unattached_with_leader() -> One:
    """It cannot reach node 7, who leads."""
    return One(log=((5, 2),), saved=ElectionState(Epoch(4), NodeId(7)))


def having_voted() -> One:
    return One(log=((5, 2),), saved=voted(4, key(3)))


def candidate() -> One:
    one = One(log=((5, 2),), saved=ElectionState(Epoch(3)))
    one.become_candidate()
    return one


def resigned() -> One:
    one = One(log=((5, 2),), saved=ElectionState(Epoch(3)))
    one.become_leader()
    one.step(Resign(one.epoch))
    assert isinstance(one.role, Resigned)
    return one


def observer() -> One:
    return One(can_vote=False, voters=(2, 3), log=((5, 2),), saved=ElectionState(Epoch(4)))


@pytest.mark.parametrize(
    "make",
    [unattached, unattached_with_leader, having_voted, candidate, resigned, observer],
    ids=lambda make: make.__name__,
)
def test_everybody_without_a_living_leader_encourages_by_the_log_alone_and_stays_as_it_is(
    make: Callable[[], One],
) -> None:
    """PV-05, PV-07."""
    one = make()
    role, epoch, saves = one.role, one.epoch, len(one.seen(e.SaveElection))
    end, last = one.end, one.replica.log.last_epoch
    assert told(one, vote(2, epoch, at(end - 1, last), pre=True)) == (RaftError.NONE, False)
    assert told(one, vote(2, epoch, at(end + 9, last - 1), pre=True)) == (RaftError.NONE, False)
    assert told(one, vote(2, epoch, at(end, last), pre=True)) == (RaftError.NONE, True)
    assert told(one, vote(3, epoch, at(end, last), pre=True)) == (RaftError.NONE, True), "as many as ask"
    assert one.role is role
    assert (one.epoch, len(one.seen(e.SaveElection))) == (epoch, saves)


def test_a_leader_encourages_nobody() -> None:
    """PV-06."""
    one = One()
    one.become_leader()
    assert told(one, vote(2, one.epoch, at(99, one.epoch), pre=True)) == (RaftError.NONE, False)
    assert one.replica.is_leader


def test_a_follower_encourages_until_it_has_fetched() -> None:
    """PV-04."""
    one = One()
    one.follow(2, 3)
    assert told(one, vote(3, 3, at(0, 0), pre=True)) == (RaftError.NONE, True)
    one.fetched(hw=0)
    assert told(one, vote(3, 3, at(0, 0), pre=True)) == (RaftError.NONE, False)


def test_an_observer_encourages_when_its_leader_has_been_silent_for_its_patience() -> None:
    """PV-04: it never stands itself, but whoever has newer voters in its log may need it as one of them."""
    one = One(voters=(2, 3, 4), config={"fetch_timeout_ms": 2000})
    one.follow(2, 3)
    one.fetched(hw=0)
    one.elapse(1900)
    assert told(one, vote(3, 3, at(0, 0), pre=True)) == (RaftError.NONE, False)
    one.elapse(200)
    assert isinstance(one.role, Follower)
    assert told(one, vote(3, 3, at(0, 0), pre=True)) == (RaftError.NONE, True)


def test_who_asks_may_still_vote_and_goes_on_asking() -> None:
    """PV-09: the vote is stored, and it asks on as one that has voted."""
    one = One()
    one.stand()
    assert isinstance(one.role, Prospective)
    assert told(one, vote(2, one.epoch, at(0, 0))) == (RaftError.INVALID_REQUEST, False), (
        "nobody has a log of epoch 0 in epoch 0"
    )
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    assert told(one, vote(2, 4, at(0, 0))) == (RaftError.NONE, True)
    assert isinstance(one.role, Prospective)
    assert one.role.voted == key(2)
    assert one.seen(e.SaveElection)[-1].state == voted(4, key(2))
    assert told(one, vote(3, 4, at(0, 0))) == (RaftError.NONE, False)
    one.grant(3)
    assert isinstance(one.role, Candidate), "and may win all the same, in the next epoch"


def follower() -> One:
    one = One(log=((5, 2),), saved=ElectionState(Epoch(3)))
    one.follow(2, 4)
    return one


def leader() -> One:
    one = One(log=((5, 2),), saved=ElectionState(Epoch(3)))
    one.become_leader()
    return one


@pytest.mark.parametrize("make", [follower, unattached_with_leader, leader, resigned], ids=lambda make: make.__name__)
def test_nobody_votes_in_an_epoch_whose_leader_it_knows_however_good_the_log(make: Callable[[], One]) -> None:
    """RFT-15: a follower, a leader, who was one, and a node that knows the leader's name without reaching it."""
    one = make()
    role, saves = one.role, len(one.seen(e.SaveElection))
    assert told(one, vote(3, one.epoch, at(99, one.epoch - 1))) == (RaftError.NONE, False)
    assert told(one, vote(2, one.epoch, at(99, one.epoch - 1))) == (RaftError.NONE, False)
    assert one.role is role
    assert len(one.seen(e.SaveElection)) == saves
    assert told(One(log=((5, 2),), saved=ElectionState(Epoch(4))), vote(3, 4, at(5, 2))) == (RaftError.NONE, True), (
        "who knows no leader votes for the same log"
    )


def test_a_peer_that_knows_no_pre_votes_is_asked_for_its_vote_at_once() -> None:
    """PV-10: the node stands as nodes of before KIP-996 do, in the next epoch, with the vote for itself on
    disk first.
    """
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    asked = one.asked(m.VoteRequest)
    assert [send.request.pre_vote for send in asked] == [True, True]  # type: ignore[union-attr]
    one.out.clear()
    one.fail(asked[0], Failure.UNSUPPORTED)
    assert isinstance(one.role, Candidate)
    assert one.epoch == 5
    saved = next(at for at, effect in enumerate(one.out) if isinstance(effect, e.SaveElection))
    sent = [at for at, effect in enumerate(one.out) if isinstance(effect, e.Send)]
    assert saved < min(sent)
    assert one.seen(e.SaveElection)[-1].state == voted(5, key(1))
    binding = one.asked(m.VoteRequest)
    assert [(send.to, send.request.pre_vote, send.request.epoch) for send in binding] == [(2, False, 5), (3, False, 5)]  # type: ignore[union-attr]
    one.grant(2)
    assert one.replica.is_leader


def test_a_peer_that_only_fails_to_answer_a_pre_vote_makes_no_candidate() -> None:
    """PV-10 is for peers that are too old, not for those that are silent."""
    for why in (Failure.TIMED_OUT, Failure.REFUSED, Failure.DISCONNECTED, Failure.INVALID):
        one = One(saved=ElectionState(Epoch(4)))
        one.stand()
        one.fail(one.asked(m.VoteRequest)[0], why)
        assert (one.epoch, type(one.role)) == (4, Prospective), why


def test_a_pre_vote_that_was_too_new_for_a_peer_is_of_no_interest_once_there_is_a_leader() -> None:
    """PV-10 ends with the asking."""
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    open_question = one.asked(m.VoteRequest)[0]
    one.follow(2, 4)
    one.fail(open_question, Failure.UNSUPPORTED)
    assert isinstance(one.role, Follower)
    assert one.epoch == 4


def test_a_leader_that_appears_ends_the_asking() -> None:
    """PV-11, RFT-29."""
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    open_questions = one.asked(m.VoteRequest)
    one.follow(2, 4)
    assert isinstance(one.role, Follower)
    assert not one.asked(m.VoteRequest)
    assert {abandon.call for abandon in one.seen(e.Abandon)} >= {send.call for send in open_questions}
