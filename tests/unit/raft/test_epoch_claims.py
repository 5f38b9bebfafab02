"""Epochs that others claim: no stranger uses them up, no removed voter disturbs, and who is honestly behind still
learns.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft import messages as m
from controller_runtime.raft.counters import Allowance
from controller_runtime.raft.effects import Append, Fault, Note, SaveElection
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.epoch_claims import LAST_EPOCH
from controller_runtime.raft.messages import LogBatch, RaftError
from controller_runtime.raft.roles import Unattached
from controller_runtime.raft.voter_set import VoterSet
from support.nodes.one_replica import One, at, endpoint, key, listeners, voter

pytestmark = pytest.mark.unit

REFUSED = RaftError.UNKNOWN_LEADER_EPOCH
VOTER, STRANGER, OTHER_DISK = key(2), key(9), key(2, other_disk=True)


def in_epoch_5() -> One:
    return One(log=((4, 5),), saved=ElectionState(Epoch(5), kraft_version=1))


def following() -> One:
    one = in_epoch_5()
    one.follow(2, 5)
    one.fetched(hw=4)
    return one


def leading() -> One:
    one = in_epoch_5()
    one.become_leader()
    return one


def vote(one: One, candidate: ReplicaKey, epoch: int, *, pre_vote: bool = False) -> RaftError:
    answer = one.ask(m.VoteRequest(candidate, Epoch(epoch), at(9, 5), pre_vote, key(1)))
    assert isinstance(answer, m.VoteResponse)
    return answer.error


def begin(one: One, leader: int, epoch: int) -> RaftError:
    answer = one.ask(m.BeginQuorumEpochRequest(NodeId(leader), Epoch(epoch), listeners(leader), key(1)))
    assert isinstance(answer, m.BeginQuorumEpochResponse)
    return answer.error


def end(one: One, leader: int, epoch: int) -> RaftError:
    answer = one.ask(m.EndQuorumEpochRequest(NodeId(leader), Epoch(epoch), ()))
    assert isinstance(answer, m.EndQuorumEpochResponse)
    return answer.error


def is_told(one: One, epoch: int, leader: int = 2) -> None:
    """The answer to its next Fetch says this."""
    if not one.asked(m.FetchRequest):
        one.elapse(50)
    send = one.asked(m.FetchRequest)[0]
    one.answer(
        send,
        m.FetchResponse(RaftError.FENCED_LEADER_EPOCH, Epoch(epoch), NodeId(leader), leader_endpoint=endpoint(leader)),
    )


@pytest.mark.parametrize("pre_vote", [True, False])
@pytest.mark.parametrize("sender", [VOTER, STRANGER], ids=["a voter", "a stranger"])
@pytest.mark.parametrize("start", [in_epoch_5, following, leading])
def test_the_last_epoch_is_refused_and_the_node_lives(start: type[One], sender: ReplicaKey, pre_vote: bool) -> None:
    """Apache Kafka 4.3.1 ends on this request."""
    one = start()
    before, saved = (one.epoch, one.role), len(one.seen(SaveElection))
    assert vote(one, sender, LAST_EPOCH, pre_vote=pre_vote) is REFUSED
    assert ((one.epoch, one.role), len(one.seen(SaveElection))) == (before, saved)
    assert one.replica.counters.refused_epochs == 1
    assert not one.seen(Fault)


def test_nobody_uses_the_epochs_up() -> None:
    """Whoever asks as fast as it can, claiming to be a voter, gains a thousand epochs and then ten in a second."""
    one = in_epoch_5()
    for _ in range(3000):
        vote(one, VOTER, one.epoch + 1)
    assert one.epoch == 5 + 1000
    for _ in range(100):
        one.now = Instant(one.now + 0.1)
        vote(one, VOTER, one.epoch + 1)
        vote(one, VOTER, one.epoch + 1)
    assert one.epoch <= 5 + 1000 + 101


@pytest.mark.parametrize("start", [following, leading])
def test_who_is_no_voter_cannot_depose_a_leader_that_is_heard(start: type[One]) -> None:
    """A removed voter that does not know it yet, a stranger, and a voter's id with another disk."""
    one = start()
    epoch, role = one.epoch, one.role
    for stranger in (STRANGER, OTHER_DISK):
        for pre_vote in (True, False):
            answer = one.ask(m.VoteRequest(stranger, Epoch(epoch + 1), at(9, 5), pre_vote, key(1)))
            # In the epoch that was asked about, or a Java candidate would ask again without pause.
            assert answer == m.VoteResponse(RaftError.NONE, Epoch(epoch + 1), None, granted=False)
    assert one.replica.counters.refused_epochs == 4
    assert begin(one, 9, epoch + 1) is REFUSED
    assert end(one, 9, epoch + 1) is REFUSED
    assert (one.epoch, one.role) == (epoch, role)


def test_a_voter_that_a_majority_encouraged_is_believed() -> None:
    """PV-08, RFT-20: within the voter set epochs are as in Kafka."""
    one = following()
    assert vote(one, key(3), 6) is RaftError.NONE
    assert one.epoch == 6
    leader = leading()
    assert vote(leader, key(3), leader.epoch + 1, pre_vote=True) is RaftError.NONE
    assert isinstance(leader.role, Unattached)


def test_without_a_leader_a_stranger_may_know_a_newer_voter_set() -> None:
    """RFT-21: refusing it could leave the quorum without a leader for ever."""
    one = in_epoch_5()
    assert vote(one, STRANGER, 6) is RaftError.NONE
    assert one.seen(SaveElection)[-1].state.voted_key == STRANGER


def test_a_follower_whose_leader_falls_silent_believes_strangers_again() -> None:
    one = following()
    one.now = Instant(one.now + 2.5)
    assert vote(one, STRANGER, 6) is RaftError.NONE


def test_who_is_far_behind_learns_the_epoch_from_an_answer() -> None:
    """A request from far ahead is refused; the node's own next question brings the truth."""
    one = in_epoch_5()
    assert begin(one, 2, 90_000) is REFUSED
    is_told(one, 90_000)
    assert (one.epoch, one.replica.leader_id) == (90_000, 2)


def test_an_answer_from_beyond_all_epochs_is_not_believed() -> None:
    one = in_epoch_5()
    for claimed in (LAST_EPOCH, 2**31 - 2, 5 + (1 << 20) + 1):
        is_told(one, claimed)
        assert one.epoch == 5
    assert one.replica.counters.refused_epochs == 3


def test_a_node_in_the_last_epoch_but_one_stops_with_a_name_for_it() -> None:
    one = One(saved=ElectionState(Epoch(2**31 - 2), kraft_version=1))
    one.stand()
    one.grant(2)
    assert any("used up" in fault.reason for fault in one.seen(Fault))


def test_an_allowance_refills_up_to_its_size() -> None:
    allowance = Allowance(most=10, per_second=2.0, left=10)
    assert allowance.take(10, Instant(0.0))
    assert not allowance.take(1, Instant(0.4))
    assert allowance.take(1, Instant(0.5))
    assert not allowance.take(11, Instant(1000.0))
    assert allowance.take(10, Instant(1000.0))


@pytest.mark.parametrize("other_disk", [False, True], ids=["the same disk", "another disk"])
def test_a_second_process_with_the_leaders_id_is_noticed(other_disk: bool) -> None:
    """It is served, and counts for nothing."""
    one, impostor = leading(), key(1, other_disk=other_disk)
    one.ask(m.FetchRequest(impostor, one.epoch, Offset(0), Epoch(0)))
    assert [note for note in one.seen(Note) if "node ids must differ" in note.text]
    seen = one.replica.status(one.now)
    assert (seen.counters.impostors, seen.observers) == (1, 0)
    answer = one.ask(m.VoteRequest(impostor, one.epoch, at(9, 5), False, key(1)))
    assert isinstance(answer, m.VoteResponse)
    assert not answer.granted
    assert begin(one, 1, one.epoch) is RaftError.FENCED_LEADER_EPOCH
    assert one.replica.counters.impostors == 3


def test_nobody_gets_a_vote_under_this_nodes_own_id() -> None:
    """It may have voted for itself, and at kraft.version 0 the two could not be told apart."""
    one = in_epoch_5()
    answer = one.ask(m.VoteRequest(key(1, other_disk=True), Epoch(6), at(9, 5), False, key(1)))
    assert isinstance(answer, m.VoteResponse)
    assert (answer.error, answer.granted) == (RaftError.NONE, False)


def test_the_notes_about_strangers_do_not_crowd_out_all_others() -> None:
    """A note is told once, and there is room for a hundred: ten thousand strangers share one."""
    one = following()
    for node in range(10, 200):
        vote(one, key(node), 6)
    assert len([note for note in one.seen(Note) if "not believed" in note.text]) == 1


def with_voters(base: int, *nodes: int) -> LogBatch:
    voters = VoterSet.of(voter(node) for node in nodes)
    return LogBatch(Offset(base), Offset(base + 1), Epoch(5), b"", ((Offset(base), voters),))


def test_voters_that_share_no_majority_with_those_before_are_not_taken() -> None:
    """RCF-12: a lying leader's set is not appended; the first set of the log may differ from the bootstrap snapshot's
    (RCF-02).
    """
    one = following()
    first = with_voters(4, 1, 2, 3, 4, 5)
    for bad in (with_voters(5, 4, 5), with_voters(5)):
        one.fetched(first, bad, hw=4)
        one.elapse(30)
        assert bad not in [batch for effect in one.seen(Append) for batch in effect.batches]
        assert one.replica.voters.ids == (1, 2, 3, 4, 5)


def test_an_observer_enters_an_epoch_with_its_leader_or_when_its_own_leader_left() -> None:
    """A voter that was removed while it stood names an epoch that the quorum may never come to."""
    observer = One(voters=(2, 3), bootstrap=(2, 3), log=((4, 5),), saved=ElectionState(Epoch(5)), can_vote=False)
    leaderless = m.FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(6), None)
    (asked,) = observer.asked(m.FetchRequest)
    observer.answer(asked, leaderless)
    assert (observer.epoch, observer.replica.leader_id) == (5, None)
    observer.follow(2, 5)
    observer.answer(observer.asked(m.FetchRequest)[-1], leaderless)
    assert (observer.epoch, observer.replica.leader_id) == (6, None), "its leader leads no more"
    observer.follow(3, 7)
    assert (observer.epoch, observer.replica.leader_id) == (7, 3)
