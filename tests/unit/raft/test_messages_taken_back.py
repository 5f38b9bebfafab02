"""A message that raises while it is judged is as if it had never come, or the node is told that it must not go on: at every call of the judging."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.raft import messages as m
from controller_runtime.raft.events import CallEnded, Failure, RequestArrived, ResponseArrived
from controller_runtime.raft.messages import RaftError
from support.failpoints import Failpoint
from support.one_replica import One, at, fetch, vote

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


def a_refusal_of_a_newer_epoch(one: One) -> Told:
    one.stand()
    send = one.asked(m.VoteRequest)[0]
    return ResponseArrived(send.call, m.VoteResponse(RaftError.FENCED_LEADER_EPOCH, one.epoch, None, granted=False))


@pytest.mark.parametrize("story", [a_vote, a_fetch_of_a_follower, a_vote_for_it, a_refusal_of_a_newer_epoch])
def test_whatever_call_raises_nothing_is_half_done(story: Callable[[One], Told]) -> None:
    verdicts = set()
    for at_call in range(1, 10_000):
        one = One(log=((5, 1),))
        event = story(one)
        q = one.replica._q
        before, calls, mark = one.replica.look(event), dict(q.calls.in_flight), q.mark()
        point = Failpoint(at_call, IndexError("a bug"))
        try:
            with point:
                one.replica.step(event, one.now)
        except IndexError:
            pass
        if point.hit is None:
            break
        changed = q.mark() != mark
        taken_back = one.replica.take_back(before, event, ())
        assert not (taken_back and changed), f"{point.hit} is taken for harmless, though raft had begun to change"
        verdicts.add(taken_back)
        if taken_back:
            assert q.calls.in_flight == calls, f"{point.hit}: calls that nobody will answer, or that are asked twice"
            if isinstance(event, ResponseArrived):
                send = one.calls[event.call]
                assert q.calls.is_busy(send.endpoint, send.lane), f"{point.hit}: {send.endpoint} is asked twice"
                one.step(CallEnded(event.call, Failure.INVALID))
                one.elapse(100)
                asked_again = any(other.endpoint == send.endpoint for other in one.calls.values() if other is not send)
                assert asked_again, f"{point.hit}: {send.endpoint} is never asked again"
    assert True in verdicts
    if story is a_vote:
        assert verdicts == {True, False}, "a vote changes what the node promises, and it must not go on then"
