"""Fetch, from both sides: what a leader answers and when, and what a follower takes."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, NodeId, Offset, ReplicaKey
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Flushed, LeaderAppend, ResponseArrived
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Follower, Leader
from support.nodes.one_replica import One, at, batch, fetch, key

pytestmark = pytest.mark.unit


def leader(records: int = 3, voters: tuple[int, ...] = (1, 2, 3)) -> One:
    """Its log: the first record of its epoch 1, and `records`; everybody has all of it."""
    one = One(voters=voters)
    if len(voters) > 1:
        one.become_leader()
    one.append(records)
    for node in voters[1:]:
        one.ask(fetch(node, 1, one.end))
    return one


def answered(one: One, request: m.FetchRequest) -> m.FetchResponse:
    answer = one.ask(request)
    if isinstance(answer, e.ReplyRecords):
        return answer.response
    assert isinstance(answer, m.FetchResponse), answer
    return answer


# What a leader refuses.


@pytest.mark.parametrize(
    "request_of",
    [fetch(2, 1, -1), fetch(2, 1, 1, -1), fetch(2, 1, 1, 2), fetch(2, 1, 1, wait_ms=-5)],
    ids=["offset", "last epoch", "last epoch above the own", "wait"],
)
def test_impossible_fetches_are_refused(request_of: m.FetchRequest) -> None:
    """FET-01."""
    assert answered(leader(), request_of).error is RaftError.INVALID_REQUEST


def test_fetches_of_another_epoch_are_refused_and_told_who_leads() -> None:
    """FET-02."""
    one = leader()
    stale, future = answered(one, fetch(2, 0, 1, 0)), answered(one, fetch(2, 2, 1, 1))
    assert (stale.error, stale.epoch, stale.leader_id) == (RaftError.FENCED_LEADER_EPOCH, 1, 1)
    assert (future.error, future.epoch, future.leader_id) == (RaftError.UNKNOWN_LEADER_EPOCH, 1, 1)
    follower = One()
    follower.follow(2, 3)
    sent_on = answered(follower, fetch(3, 3, 0, 0))
    assert (sent_on.error, sent_on.leader_id) == (RaftError.NOT_LEADER_OR_FOLLOWER, 2)


# Waiting for news.


def test_a_fetch_without_news_waits_for_a_record() -> None:
    """FET-03."""
    one = leader()
    assert one.ask(fetch(2, 1, one.end, wait_ms=500)) is None
    waiting = one.token
    one.append()
    assert isinstance(one.answer_to(waiting), e.ReplyRecords)


def test_a_fetch_without_news_waits_for_a_high_watermark() -> None:
    """FET-03, FET-05: the record is held by one follower, so the other learns that it is committed."""
    one = leader()
    one.append()
    before = one.replica.high_watermark
    assert one.ask(fetch(3, 1, one.end, wait_ms=500, hw=before)) is not None, "its own fetch commits the record"
    one = leader(voters=(1, 2, 3, 4, 5))
    one.append()
    before = one.replica.high_watermark
    assert one.ask(fetch(2, 1, one.end, wait_ms=500, hw=before)) is None
    waiting = one.token
    one.ask(fetch(3, 1, one.end, wait_ms=500, hw=before))
    answer = one.answer_to(waiting)
    assert isinstance(answer, e.ReplyRecords)
    assert answer.response.high_watermark == one.end


def test_a_fetch_without_news_waits_for_the_end_of_the_leadership() -> None:
    """FET-03."""
    one = leader()
    one.ask(fetch(2, 1, one.end, wait_ms=500))
    waiting = one.token
    one.follow(3, 2)
    answer = one.answer_to(waiting)
    assert isinstance(answer, m.FetchResponse)
    assert (answer.error, answer.leader_id, answer.epoch) == (RaftError.NOT_LEADER_OR_FOLLOWER, 3, 2)


def test_a_fetch_without_news_waits_no_longer_than_it_wants() -> None:
    """FET-03."""
    one = leader()
    one.ask(fetch(2, 1, one.end, wait_ms=500))
    waiting = one.token
    one.elapse(499)
    assert one.answer_to(waiting) is None
    one.elapse(1)
    answer = one.answer_to(waiting)
    assert isinstance(answer, e.ReplyRecords)
    assert (answer.offset, answer.response.error) == (one.end, RaftError.NONE)


def test_divergence_snapshots_and_errors_never_wait() -> None:
    """FET-04."""
    one = One(log=((4, 1), (6, 3)), saved=ElectionState(Epoch(3)))
    one.become_leader()
    diverging = one.ask(fetch(2, 4, 9, 1, wait_ms=500))
    assert isinstance(diverging, m.FetchResponse)
    assert diverging.diverging == at(4, 1)
    one.replica.log.snapshots.append(at(3, 1))
    snapshot = one.ask(fetch(2, 4, 0, 0, wait_ms=500))
    assert isinstance(snapshot, m.FetchResponse)
    assert snapshot.snapshot_id == at(3, 1)
    refused = one.ask(fetch(2, 3, 1, 1, wait_ms=500))
    assert isinstance(refused, m.FetchResponse)
    assert refused.error is RaftError.FENCED_LEADER_EPOCH


def test_a_high_watermark_that_the_asker_does_not_know_is_news_at_once() -> None:
    """FET-05: at version 18; an older one does not say what it knows and waits."""
    one = leader()
    committed = one.replica.high_watermark
    assert committed == one.end
    assert isinstance(one.ask(fetch(2, 1, one.end, wait_ms=500, hw=committed - 1)), e.ReplyRecords)
    assert isinstance(one.ask(fetch(2, 1, one.end, wait_ms=500, hw=-1)), e.ReplyRecords)
    assert one.ask(fetch(2, 1, one.end, wait_ms=500, hw=committed)) is None
    assert one.ask(fetch(3, 1, one.end, wait_ms=500)) is None


def test_while_the_leader_knows_no_high_watermark_itself_the_asker_waits() -> None:
    """FET-05."""
    one = One(voters=(1, 2, 3, 4, 5))
    one.become_leader()
    assert isinstance(one.role, Leader)
    assert one.role.high_watermark is None
    assert one.ask(fetch(2, 1, one.end, wait_ms=500, hw=-1)) is None


# What is committed.


@pytest.mark.parametrize(("voters", "needed"), [((1, 2), 1), ((1, 2, 3), 1), ((1, 2, 3, 4), 2), ((1, 2, 3, 4, 5), 2)])
def test_committed_is_what_a_majority_of_the_voters_holds(voters: tuple[int, ...], needed: int) -> None:
    """FET-10, FET-09: the leader itself counts by what is on its disk."""
    one = leader(voters=voters)
    one.append()
    for held, node in enumerate(voters[1:], start=1):
        one.ask(fetch(node, 1, one.end))
        assert (one.replica.high_watermark == one.end) == (held >= needed)
        if held >= needed:
            break


def test_a_sole_voter_commits_what_is_on_its_disk() -> None:
    """FET-10."""
    one = One(voters=(1,), slow_disk=True)
    one.step(Flushed(one.end))
    committed = one.replica.high_watermark
    one.append()
    assert one.replica.high_watermark == committed
    one.step(Flushed(one.end))
    assert one.replica.high_watermark == one.end


def test_observers_commit_nothing_and_a_follower_that_falls_back_takes_nothing_away() -> None:
    """FET-10."""
    one = leader()
    one.append()
    for observer in (7, 8, 9):
        one.ask(fetch(observer, 1, one.end))
    assert one.replica.high_watermark == one.end - 1
    one.ask(fetch(2, 1, one.end))
    committed = one.replica.high_watermark
    assert committed == one.end
    one.ask(fetch(2, 1, 1))
    assert one.replica.high_watermark == committed


def test_another_set_of_voters_takes_nothing_away() -> None:
    """FET-10: of four, two others hold the end; without one of them the rest is behind."""
    one = leader(voters=(1, 2, 3, 4))
    one.append()
    one.ask(fetch(2, 1, one.end))
    one.ask(fetch(3, 1, one.end))
    committed = one.replica.high_watermark
    one.ask(m.RemoveVoterRequest(key(2)))
    assert one.replica.high_watermark == committed


def test_who_is_no_replica_changes_nothing_by_fetching() -> None:
    """FET-16."""
    one = leader()
    one.append()
    before = one.replica.describe(one.now)
    for _ in range(3):
        answer = one.ask(fetch(0, 1, one.end - 1, replica=ReplicaKey(NodeId(-1))))
        assert isinstance(answer, e.ReplyRecords), "it may read"
    assert one.replica.describe(one.now) == before
    assert one.replica.high_watermark == one.end - 1


def test_only_the_leader_describes_the_quorum_and_it_forgets_silent_observers() -> None:
    """FET-22."""
    one = leader()
    one.ask(fetch(9, 1, one.end - 1))
    seen = one.replica.describe(one.now)
    assert seen is not None
    assert [replica.key.node_id for replica in seen.voters] == [1, 2, 3]
    (observer,) = seen.observers
    assert (observer.key, observer.end_offset, observer.last_fetch) == (key(9), one.end - 1, one.now)
    assert observer.last_caught_up is None
    one.ask(fetch(9, 1, one.end))
    assert one.replica.describe(one.now).observers[0].last_caught_up == one.now  # type: ignore[union-attr]
    for _ in range(301):
        one.elapse(1000)
        one.ask(fetch(2, 1, one.end))
    one.ask(fetch(8, 1, one.end))
    after = one.replica.describe(one.now)
    assert after is not None
    assert [replica.key.node_id for replica in after.observers] == [8]
    follower = One()
    follower.follow(2, 3)
    assert follower.replica.describe(follower.now) is None


def test_only_a_leader_of_this_epoch_appends() -> None:
    """FET-18: what the application does not know yet is its caller's to prevent, so it is a broken promise, not an
    answer.
    """
    one = leader()
    for epoch in (0, 2):
        with pytest.raises(AssertionError, match="epoch"):
            one.step(LeaderAppend(Epoch(epoch), (batch(one.end, one.end + 1, 1),)))
    follower = One()
    follower.follow(2, 3)
    with pytest.raises(AssertionError, match="only a leader appends"):
        follower.step(LeaderAppend(Epoch(3), (batch(0, 1, 3),)))


# The follower.


def test_a_follower_tells_its_high_watermark_its_directory_and_its_last_epoch() -> None:
    """FET-06."""
    one = One(log=((4, 1), (6, 2)))
    one.follow(2, 3)
    one.fetched(hw=5)
    (send,) = one.asked(m.FetchRequest)
    assert isinstance(send.request, m.FetchRequest)
    asked = send.request
    assert (asked.replica, asked.epoch, asked.offset, asked.last_epoch, asked.high_watermark) == (key(1), 3, 6, 2, 5)


def test_answers_of_an_earlier_leader_are_ignored() -> None:
    """FET-12."""
    one = One()
    one.follow(2, 3)
    (late,) = one.asked(m.FetchRequest)
    one.follow(3, 4)
    old = m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), Offset(1), batches=(batch(0, 1, 3),))
    one.step(ResponseArrived(late.call, old))
    assert (one.end, one.replica.high_watermark, one.replica.leader_id) == (0, None, 3)
    (current,) = one.asked(m.FetchRequest)
    one.answer(current, m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), Offset(1), batches=(batch(0, 1, 3),)))
    assert one.end == 0, "an answer that says another epoch than ours"


def test_batches_of_a_later_epoch_are_not_taken_and_those_before_them_are() -> None:
    """FET-14."""
    one = One()
    one.follow(2, 3)
    one.fetched(batch(0, 2, 1), batch(2, 3, 3), batch(3, 5, 4), batch(5, 6, 3), hw=6)
    assert (one.end, one.replica.log.last_epoch) == (3, 3)
    assert one.replica.high_watermark == 3, "no more is committed than it has"


@pytest.mark.parametrize(
    ("batches", "end"),
    [((batch(1, 2, 3),), 0), ((batch(0, 1, 3), batch(2, 3, 3)), 1), ((batch(0, 1, 3), batch(1, 2, 2)), 1)],
    ids=["does not begin at the end", "a gap", "an epoch that falls"],
)
def test_batches_that_do_not_continue_the_log_are_not_taken(batches: tuple[m.LogBatch, ...], end: int) -> None:
    one = One()
    one.follow(2, 3)
    one.fetched(*batches, hw=0)
    assert one.end == end
    assert isinstance(one.role, Follower)


def test_an_answer_without_records_still_tells_what_is_committed() -> None:
    """FET-17."""
    one = One(log=((4, 1),))
    one.follow(2, 3)
    one.fetched(hw=3)
    assert one.replica.high_watermark == 3
    one.fetched(hw=2)
    assert one.replica.high_watermark == 3, "never backwards"


def test_a_voter_asks_on_only_when_what_it_took_is_on_disk() -> None:
    """FET-15."""
    one = One(slow_disk=True)
    one.follow(2, 3)
    one.fetched(batch(0, 2, 3), hw=0)
    assert not one.asked(m.FetchRequest)
    one.step(Flushed(Offset(1)))
    assert not one.asked(m.FetchRequest)
    one.step(Flushed(Offset(2)))
    (send,) = one.asked(m.FetchRequest)
    assert isinstance(send.request, m.FetchRequest)
    assert send.request.offset == 2


def test_nothing_is_cut_below_what_is_committed() -> None:
    """FET-07, SNP-10: a leader that wants it is a fault, not a leader to follow."""
    one = One(log=((4, 1), (6, 2)))
    one.follow(2, 3)
    one.fetched(hw=5)
    (send,) = one.asked(m.FetchRequest)
    wanted = m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), Offset(5), diverging=at(4, 1))
    one.answer(send, wanted)
    (fault,) = one.seen(e.Fault)
    assert "below" in fault.reason
    assert (one.end, one.seen(e.Truncate)) == (6, [])


def test_what_is_not_committed_is_cut_where_the_histories_part() -> None:
    """FET-07."""
    one = One(log=((4, 1), (6, 2)))
    one.follow(2, 3)
    one.fetched(hw=4)
    (send,) = one.asked(m.FetchRequest)
    one.answer(send, m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), Offset(4), diverging=at(9, 1)))
    assert (one.end, one.seen(e.Truncate)) == (4, [e.Truncate(Offset(4))])
