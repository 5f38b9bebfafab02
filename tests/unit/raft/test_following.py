"""A follower and what its leader sends: nothing useless keeps it with a leader, nothing keeps it from finding the next
one.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, NodeId, Offset, OffsetAndEpoch
from controller_runtime.raft import messages as m
from controller_runtime.raft.effects import Append, Fault, ResetLog, Truncate
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Failure, SnapshotFetched, SnapshotTaken
from controller_runtime.raft.messages import FetchResponse, LogBatch, RaftError
from controller_runtime.raft.roles import Follower, Prospective
from controller_runtime.raft.voter_set import VoterSet
from support.nodes.one_replica import One, at, batch, endpoint, voter

pytestmark = pytest.mark.unit

LEADER = NodeId(2)


def following(*, observer: bool = False) -> One:
    """Four records of epoch 5; node 2 leads."""
    saved = ElectionState(Epoch(5), kraft_version=1)
    one = One(voters=(2, 3, 4) if observer else (1, 2, 3), log=((4, 5),), saved=saved)
    is_told(one, FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(5), LEADER, leader_endpoint=endpoint(2)))
    assert one.replica.leader_id == LEADER
    return one


def is_told(one: One, answer: FetchResponse) -> None:
    one.answer(one.asked(m.FetchRequest)[0], answer)


def answer(*batches: LogBatch, damaged: bool = False) -> FetchResponse:
    return FetchResponse(RaftError.NONE, Epoch(5), LEADER, Offset(4), batches=batches, damaged=damaged)


def test_a_follower_hears_its_leader_from_the_first_answer_until_the_fetch_timeout_has_passed() -> None:
    """What readiness tells: knowing a leader's name is not hearing it."""
    one = following()
    assert not one.replica.hears_leader(one.now)
    one.fetched(hw=4)
    assert one.replica.hears_leader(one.now)
    one.elapse(1990)
    assert one.replica.hears_leader(one.now)
    one.elapse(20)
    assert (one.replica.leader_id, one.replica.hears_leader(one.now)) == (LEADER, False)


def test_an_observer_that_follows_for_ever_hears_its_leader_no_longer_than_a_voter_does() -> None:
    one = following(observer=True)
    one.fetched(hw=4)
    one.elapse(1990)
    assert one.replica.hears_leader(one.now)
    one.elapse(20)
    assert isinstance(one.role, Follower)
    assert not one.replica.hears_leader(one.now)


def test_who_leads_hears_itself_until_it_resigns_without_its_majority() -> None:
    one = One()
    assert not one.replica.hears_leader(one.now)
    one.become_leader()
    assert one.replica.hears_leader(one.now)
    one.elapse(4000)
    assert not one.replica.is_leader
    assert not one.replica.hears_leader(one.now)


def test_a_voter_whose_leader_belongs_to_another_cluster_ends_and_others_only_say_so() -> None:
    """KIP-595: going on, it would vote in a quorum that is not its own. A wrong address among the bootstrap servers
    ends nobody.
    """
    refused = FetchResponse(RaftError.INCONSISTENT_CLUSTER_ID, Epoch(-1), None)
    voter, observer, asking = following(), following(observer=True), One(voters=(1, 2, 3), log=((4, 5),))
    for one in (voter, observer, asking):
        is_told(one, refused)
    (fault,) = voter.seen(Fault)
    assert "belongs to another cluster than this node" in fault.reason
    assert not observer.seen(Fault)
    assert not asking.seen(Fault)


USELESS = {
    "a gap": answer(batch(6, 7, 5)),
    "a later epoch": answer(batch(4, 5, 6)),
    "an older epoch": answer(batch(4, 5, 4)),
    "bytes that are no batch": answer(damaged=True),
}


@pytest.mark.parametrize("useless", USELESS.values(), ids=USELESS)
def test_a_leader_that_sends_what_cannot_be_taken_is_asked_after_a_pause_and_given_up(useless: FetchResponse) -> None:
    """FET-13, FET-14: such answers are no sign of life. Pre-vote decides whether it is the leader or this node that is
    mad.
    """
    one = following()
    elsewhere = FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(5), LEADER)
    asked = 0
    for _ in range(400):
        for send in one.asked(m.FetchRequest):
            one.answer(send, useless if send.to == LEADER else elsewhere)
            asked += send.to == LEADER
        assert not one.seen(Append)
        assert not one.seen(Fault)
        if isinstance(one.role, Prospective):
            break
        one.elapse(10)
    assert isinstance(one.role, Prospective), "it follows for ever"
    assert asked <= 2100 / one.replica._q.config.retry_backoff_ms + 1


def test_what_comes_before_the_bad_batch_is_taken_and_counts() -> None:
    """FET-14."""
    one = following()
    one.fetched(batch(4, 5, 5), batch(7, 8, 5), hw=4)
    assert [effect.batches for effect in one.seen(Append)] == [(batch(4, 5, 5),)]
    assert one.asked(m.FetchRequest), "it goes on at once"


def test_an_observer_whose_leader_dies_in_the_middle_of_a_snapshot_asks_the_others() -> None:
    """It has no election that would end its waiting."""
    one = following(observer=True)
    is_told(one, FetchResponse(RaftError.NONE, Epoch(5), LEADER, Offset(90), snapshot_id=at(80, 5)))
    (chunk,) = one.asked(m.FetchSnapshotRequest)
    one.fail(chunk, Failure.REFUSED)
    (asked,) = one.asked(m.FetchRequest)
    assert asked.to in (3, 4)
    is_told(one, FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(6), NodeId(3), leader_endpoint=endpoint(3)))
    assert (one.epoch, one.replica.leader_id) == (6, 3)


@pytest.mark.parametrize(("point", "is_fault"), [(at(1, 5), True), (at(3, 5), False)])
def test_what_a_snapshot_holds_is_never_cut_even_right_after_a_restart(point: OffsetAndEpoch, is_fault: bool) -> None:
    """FET-07, SNP-10: the high watermark is not known yet, but a snapshot is never above it."""
    one = following()
    assert one.replica.high_watermark is None
    one.step(SnapshotTaken(at(2, 5)))
    is_told(one, FetchResponse(RaftError.NONE, Epoch(5), LEADER, diverging=point))
    assert bool(one.seen(Fault)) is is_fault
    assert bool(one.seen(Truncate)) is not is_fault


def test_a_log_begins_anew_by_the_snapshot_that_is_fetched_now_and_by_no_earlier_one() -> None:
    """SNP-14: on a slow disk two may be frozen by one write; the first one's voters are not those of the second."""
    one = following()
    for offset in (60, 80):
        is_told(one, FetchResponse(RaftError.NONE, Epoch(5), LEADER, Offset(90), snapshot_id=at(offset, 5)))
        (chunk,) = one.asked(m.FetchSnapshotRequest)
        one.answer(chunk, m.FetchSnapshotResponse(RaftError.NONE, Epoch(5), LEADER, at(offset, 5), 3, 0, b"all"))
        if offset == 60:
            is_told_by_another_role(one)
    one.step(SnapshotFetched(at(60, 5), 1, VoterSet.of([voter(1)])))
    assert not one.seen(ResetLog)
    assert one.replica.voters.ids == (1, 2, 3)
    one.step(SnapshotFetched(at(80, 5), 1, VoterSet.of([voter(1), voter(2)])))
    assert one.seen(ResetLog) == [ResetLog(at(80, 5))]
    assert list(one.replica.voters.ids) == [1, 2]


def is_told_by_another_role(one: One) -> None:
    """It stands and comes back to its leader: what it fetched before is nobody's any more."""
    one.elapse(10_000)
    assert isinstance(one.role, Prospective)
    for send in one.asked(m.VoteRequest):
        one.answer(send, m.VoteResponse(RaftError.NONE, Epoch(5), LEADER, granted=False))
    assert one.replica.leader_id == LEADER


def test_a_server_that_names_a_leader_without_its_address_is_not_asked_without_pause() -> None:
    """RFT-42."""
    one = One(voters=(2, 3, 4), saved=ElectionState(Epoch(5), kraft_version=1))
    nameless = FetchResponse(RaftError.NONE, Epoch(5), NodeId(7))
    asked = 0
    for _ in range(20):
        for send in one.asked(m.FetchRequest):
            one.answer(send, nameless)
            asked += 1
    assert asked == 4, "once each, the first again after the leader's name was learnt, and then there is a pause"
    one.elapse(25)
    assert one.asked(m.FetchRequest)
