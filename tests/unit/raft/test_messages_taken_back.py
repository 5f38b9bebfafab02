"""A message that raises while it is judged is as if it had never come, or the node is told that it must not go on: at
every call of the judging.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.identifiers import Epoch, NodeId, Offset
from controller_runtime.raft import messages as m
from controller_runtime.raft import taking_back
from controller_runtime.raft.effects import Fault
from controller_runtime.raft.events import CallEnded, Failure, RequestArrived, ResponseArrived, Tick
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.transitions import IllegalTransition
from support.nodes.failpoints import Failpoint
from support.nodes.one_replica import One, at, batch, fetch, vote

pytestmark = pytest.mark.unit

Told = RequestArrived | ResponseArrived


def a_vote(one: One) -> Told:
    one.elapse(10)
    return RequestArrived(1000, vote(2, one.epoch + 1, at(9, 1)))


def a_fetch_of_a_follower(one: One) -> Told:
    one.become_leader()
    one.append()
    one.ask(fetch(2, one.epoch, 0))
    return RequestArrived(1000, fetch(2, one.epoch, one.end))


def a_vote_for_it(one: One) -> Told:
    one.stand()
    send = one.asked(m.VoteRequest)[0]
    assert isinstance(send.request, m.VoteRequest)
    return ResponseArrived(send.call, m.VoteResponse(RaftError.NONE, send.request.epoch, None, granted=True))


def an_answer_that_nobody_waits_for(one: One) -> Told:
    one.stand()
    return ResponseArrived(1000, m.VoteResponse(RaftError.NONE, one.epoch, None, granted=True))


def a_refusal_of_a_newer_epoch(one: One) -> Told:
    one.stand()
    send = one.asked(m.VoteRequest)[0]
    return ResponseArrived(send.call, m.VoteResponse(RaftError.FENCED_LEADER_EPOCH, one.epoch, None, granted=False))


def a_vote_of_an_earlier_epoch(one: One) -> Told:
    return RequestArrived(1000, vote(2, 0, at(9, 0)))


def records_of_the_leader(one: One) -> Told:
    one.follow(2, 3)
    (send,) = one.asked(m.FetchRequest)
    told = m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), Offset(6), batches=(batch(5, 6, 3),))
    return ResponseArrived(send.call, told)


def a_chunk_of_a_snapshot(one: One) -> Told:
    one.follow(2, 3)
    (asked,) = one.asked(m.FetchRequest)
    one.answer(asked, m.FetchResponse(RaftError.NONE, Epoch(3), NodeId(2), snapshot_id=at(20, 3)))
    (send,) = one.asked(m.FetchSnapshotRequest)
    told = m.FetchSnapshotResponse(RaftError.NONE, Epoch(3), NodeId(2), at(20, 3), 6, 0, b"abc")
    return ResponseArrived(send.call, told)


STORIES = (
    a_vote,
    a_vote_of_an_earlier_epoch,
    records_of_the_leader,
    a_chunk_of_a_snapshot,
    a_fetch_of_a_follower,
    a_vote_for_it,
    an_answer_that_nobody_waits_for,
    a_refusal_of_a_newer_epoch,
)


@pytest.mark.parametrize("bug", [IndexError("a bug"), IllegalTransition("a bug")], ids=lambda bug: type(bug).__name__)
@pytest.mark.parametrize("story", STORIES)
def test_whatever_call_raises_nothing_is_half_done(story: Callable[[One], Told], bug: Exception) -> None:
    verdicts = set()
    for at_call in range(1, 10_000):
        one = One(log=((5, 1),))
        event = story(one)
        q = one.replica._q
        before, calls, mark = one.replica.look(event), dict(q.calls.in_flight), taking_back.mark(q)
        point, raised = Failpoint(at_call, bug), False
        try:
            with point:
                one.replica.step(event, one.now)
        except type(bug):
            raised = True
        if point.hit is None:
            break
        assert raised, f"{point.hit}: perhaps the sender has to pay, which the node has to know"
        changed = taking_back.mark(q) != mark
        taken_back = one.replica.take_back(before, event, ())
        assert not (taken_back and changed), f"{point.hit} is taken for harmless, though raft had begun to change"
        verdicts.add(taken_back)
        if taken_back:
            assert q.calls.in_flight == calls, f"{point.hit}: calls that nobody will answer, or that are asked twice"
            assert (q.out, q.wake_at) == ([], before.wake_at), f"{point.hit}: something of the message is left"
            if isinstance(event, ResponseArrived) and event.call in calls:
                send = one.calls[event.call]
                assert q.calls.is_busy(send.endpoint, send.lane), f"{point.hit}: {send.endpoint} is asked twice"
                one.step(CallEnded(event.call, Failure.INVALID))
                one.elapse(100)
                asked_again = any(other.endpoint == send.endpoint for other in one.calls.values() if other is not send)
                assert asked_again, f"{point.hit}: {send.endpoint} is never asked again"
    assert True in verdicts
    if story is a_vote:
        assert verdicts == {True, False}, "a vote changes what the node promises, and it must not go on then"


def test_an_illegal_change_of_role_that_no_message_is_to_blame_for_stops_the_node_and_nothing_else_leaves() -> None:
    hits = 0
    for at_call in range(1, 10_000):
        one = One(log=((5, 1),))
        for send in one.asked(m.FetchRequest):
            one.fail(send)
        due = one.replica.next_deadline()
        assert due is not None
        point = Failpoint(at_call, IllegalTransition("a bug"), inside=[Replica.step.__code__])
        with point:
            effects = one.replica.step(Tick(), due)
        if point.hit is None:
            break
        hits += 1
        assert (effects, one.replica._q.out) == ([Fault("a bug")], []), point.hit
    assert hits
