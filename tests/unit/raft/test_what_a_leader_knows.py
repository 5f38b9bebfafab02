"""What a leader knows of those who fetch: that they live, how far they are, when they had caught up; and how long it
lets them wait.

Found by `tools/mutate.py`, as `test_edges_of_rules.py`.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft import replication
from controller_runtime.raft.describe import ReplicaDescription
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Follower, Leader
from support.nodes.one_replica import One, at, endpoint, fetch, key, listeners

pytestmark = pytest.mark.unit


def sole_leader() -> One:
    one = One(voters=(1,))
    one.elapse(3000)
    assert one.replica.is_leader
    return one


def leader_of(*voters: int, log: tuple[tuple[int, int], ...] = ()) -> One:
    one = One(voters=voters, log=log, saved=ElectionState(Epoch(5)))
    one.become_leader()
    return one


def known(one: One, node: int) -> ReplicaDescription:
    seen = one.replica.describe(one.now)
    assert seen is not None
    return next(found for found in (*seen.voters, *seen.observers) if found.key == key(node))


def test_who_is_told_to_cut_its_log_or_to_fetch_a_snapshot_is_alive() -> None:
    one = leader_of(1, 2, 3, log=((4, 5),))
    for _ in range(6):
        one.elapse(700)
        answer = one.ask(fetch(2, one.epoch, 99, 5))
        assert isinstance(answer, m.FetchResponse)
        assert (answer.diverging, answer.high_watermark) == (at(4, 5), -1)
    assert one.replica.is_leader
    one = leader_of(1, 2, 3, log=((4, 5),))
    one.replica.log.taken(at(4, 5))
    for _ in range(6):
        one.elapse(700)
        answer = one.ask(fetch(2, one.epoch, 0, 0))
        assert isinstance(answer, m.FetchResponse)
        assert answer.snapshot_id == at(4, 5)
    assert one.replica.is_leader


def test_who_waits_is_answered_when_its_own_time_is_up_whoever_came_first() -> None:
    one = sole_leader()
    tokens = []
    for node, wait_ms in ((4, 500), (5, 100), (6, 1)):
        assert one.ask(fetch(node, one.epoch, one.end, wait_ms=wait_ms)) is None
        tokens.append(one.token)
    for elapsed, answered in ((1, (2,)), (99, (1, 2)), (399, (1, 2)), (1, (0, 1, 2))):
        one.elapse(elapsed)
        assert tuple(n for n, token in enumerate(tokens) if one.answer_to(token) is not None) == answered
    assert one.ask(fetch(4, one.epoch, one.end, wait_ms=0)) is not None


def test_when_too_many_wait_the_next_one_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "MAX_PARKED", 2)
    one = sole_leader()
    assert one.ask(fetch(4, one.epoch, one.end, wait_ms=500)) is None
    assert one.ask(fetch(5, one.epoch, one.end, wait_ms=500)) is None
    assert one.ask(fetch(6, one.epoch, one.end, wait_ms=500)) is not None


def test_node_0_counts_as_any_other_voter() -> None:
    one = leader_of(0, 1, 2)
    one.ask(fetch(0, one.epoch, one.end))
    assert one.replica.high_watermark == one.end


def test_observers_are_forgotten_after_five_minutes_of_silence_when_another_one_comes() -> None:
    one = sole_leader()
    one.ask(fetch(4, one.epoch, one.end))
    one.elapse(299_999)
    one.ask(fetch(5, one.epoch, one.end))
    assert isinstance(one.role, Leader)
    assert list(one.role.observers) == [key(4), key(5)]
    one.now = one.replica._q.after(one.role.observers[key(4)].last_contact, replication.OBSERVER_SESSION_MS)
    one.ask(fetch(6, one.epoch, one.end))
    assert list(one.role.observers) == [key(5), key(6)]


def test_of_too_many_observers_the_one_that_was_silent_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "MAX_OBSERVERS", 2)
    one = sole_leader()
    for node in (4, 5, 4, 6):
        one.elapse(10)
        one.ask(fetch(node, one.epoch, one.end))
    assert isinstance(one.role, Leader)
    assert sorted(one.role.observers) == [key(4), key(6)]


def test_a_voter_that_has_less_than_it_once_had_is_told_to_people_and_counts_for_what_it_has() -> None:
    one = leader_of(1, 2, 3)
    one.append(4)
    one.ask(fetch(2, one.epoch, one.end))
    assert one.seen(e.Note) == []
    one.ask(fetch(2, one.epoch, one.end - 2))
    (note,) = one.seen(e.Note)
    assert note.alarming
    assert f"voter 2 had the log up to {one.end} on its disk and now asks for {one.end - 2}" in note.text
    assert known(one, 2).end_offset == one.end - 2
    one.ask(fetch(9, one.epoch, one.end))
    one.ask(fetch(9, one.epoch, one.end - 2))
    assert len(one.seen(e.Note)) == 1, "observers may begin anew"
    said = one.ask(fetch(2, one.epoch, 1, 0))
    assert isinstance(said, m.FetchResponse)
    assert said.diverging is not None
    assert known(one, 2).end_offset == 1, "though it is to cut even that"


def test_who_has_caught_up_and_when_is_known_from_what_it_asks_for() -> None:
    """FET-22: now, when it asks for the end; at its last fetch, when it has all that there was then."""
    one = leader_of(1, 2, 3)
    one.append(3)
    start = one.end

    def fetches(offset: int) -> Instant:
        one.elapse(100)
        one.ask(fetch(4, one.epoch, offset))
        return one.now

    fetches(start - 2)
    fetches(start - 1)
    assert known(one, 4).last_caught_up is None, "it was never where the leader was"
    first = fetches(start)
    assert (known(one, 4).last_caught_up, known(one, 4).last_fetch) == (first, first)
    one.append()
    second = fetches(start)
    assert (known(one, 4).last_caught_up, known(one, 4).last_fetch) == (first, second)
    one.append()
    third = fetches(start + 1)
    assert (known(one, 4).last_caught_up, known(one, 4).last_fetch) == (second, third)
    fetches(start + 1)
    assert known(one, 4).last_caught_up == second, "it does not have what there was at the third"


def test_who_may_vote_is_a_voter() -> None:
    assert One().replica.is_voter is True
    assert One(voters=(2, 3)).replica.is_voter is False
    assert One(can_vote=False).replica.is_voter is False


def test_a_leader_that_was_known_by_name_alone_is_followed_when_somebody_tells_where_it_is() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    one.ask(m.BeginQuorumEpochRequest(key(9).node_id, Epoch(4), (), key(1)))
    assert one.replica.leader_id == 9
    (send,) = one.asked(m.FetchRequest)
    told = m.FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(4), key(9).node_id, leader_endpoint=endpoint(9))
    one.answer(send, told)
    assert isinstance(one.role, Follower)
    assert (one.role.leader_id, one.replica.leader_listeners) == (9, listeners(9))


LINGER_MS = 50


def test_a_high_watermark_alone_is_told_when_its_linger_is_over_and_once() -> None:
    one = One(saved=ElectionState(Epoch(5)), config={"high_watermark_linger_ms": LINGER_MS})
    one.become_leader()
    for node in (2, 3):
        one.ask(fetch(node, one.epoch, one.end))
    one.elapse(4 * LINGER_MS)
    known_to_3 = one.replica.high_watermark
    assert known_to_3 == one.end
    one.append()
    assert one.ask(fetch(3, one.epoch, one.end, wait_ms=500, hw=known_to_3)) is None
    waiting = one.token
    assert one.replica.high_watermark == one.end, "it has the record itself, which is a majority"
    one.elapse(LINGER_MS - 1)
    assert one.answer_to(waiting) is None
    one.elapse(1)
    assert one.answer_to(waiting) is not None
    assert one.ask(fetch(3, one.epoch, one.end, wait_ms=500, hw=one.end)) is None
    idle = one.token
    one.elapse(4 * LINGER_MS)
    assert one.answer_to(idle) is None, "there is nothing new to tell"
    one.append()
    assert one.answer_to(idle) is not None, "records wait for nobody"


def test_who_does_not_say_which_high_watermark_it_knows_is_answered_only_when_it_moves() -> None:
    """Fetch below version 18."""
    one = leader_of(1, 2, 3)
    one.ask(fetch(2, one.epoch, one.end))
    assert one.ask(fetch(3, one.epoch, one.end, wait_ms=500)) is None
    waiting = one.token
    one.ask(fetch(2, one.epoch, one.end))
    assert one.answer_to(waiting) is None


def test_who_waited_before_a_high_watermark_moved_is_told_it_when_the_linger_is_over_and_once() -> None:
    one = One(voters=(1, 2, 3, 4, 5), saved=ElectionState(Epoch(5)), config={"high_watermark_linger_ms": LINGER_MS})
    one.become_leader()
    for node in (2, 3, 4):
        one.ask(fetch(node, one.epoch, one.end))
    one.elapse(4 * LINGER_MS)
    before = one.replica.high_watermark
    one.append()
    assert one.ask(fetch(2, one.epoch, one.end, wait_ms=500, hw=before)) is None
    waiting = one.token
    assert one.replica.high_watermark == before, "two of five have the record"
    one.ask(fetch(3, one.epoch, one.end))
    assert one.replica.high_watermark == one.end
    one.elapse(LINGER_MS - 1)
    assert one.answer_to(waiting) is None
    one.elapse(2)
    assert one.answer_to(waiting) is not None
    assert one.ask(fetch(2, one.epoch, one.end, wait_ms=500)) is None
    idle = one.token
    one.elapse(4 * LINGER_MS)
    assert one.answer_to(idle) is None, "it does not say what it knows, and there is nothing new"
