"""Whether an observer has kept up well enough to become a voter."""

from __future__ import annotations

import pytest

from controller_runtime.raft import messages as m
from controller_runtime.raft.messages import RaftError
from support.nodes.one_replica import One, fetch, key, voter

pytestmark = pytest.mark.unit

HOUR_MS = 3_600_000


def sole_leader() -> One:
    """It never resigns for want of a majority, so an hour may pass."""
    one = One(voters=(1,))
    one.elapse(3000)
    assert one.replica.is_leader
    return one


def caught_up(one: One, node: int) -> None:
    """It fetches up to the end, and tells so by its next fetch."""
    for _ in range(2):
        one.ask(fetch(node, one.epoch, one.end))


def add(one: One, node: int) -> m.Response | None:
    """Its node is asked for its versions and answers at once; None while the new set waits for its commit."""
    token = one.token + 1
    assert one.ask(m.AddVoterRequest(voter(node))) is None
    (asked,) = one.asked(m.ApiVersionsRequest)
    one.answer(asked, m.ApiVersionsResponse(RaftError.NONE, (0, 1)))
    return one.answer_to(token)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("silent_ms", "error"),
    [(0, RaftError.NONE), (HOUR_MS - 1000, RaftError.NONE), (HOUR_MS, RaftError.REQUEST_TIMED_OUT)],
)
def test_an_observer_becomes_a_voter_only_if_it_fetched_within_the_last_hour(silent_ms: int, error: RaftError) -> None:
    """RCF-05: lagging is 7."""
    one = sole_leader()
    caught_up(one, 4)
    one.elapse(silent_ms)
    answer = add(one, 4)
    if error is RaftError.NONE:
        assert one.replica.voters.has_exactly(key(4))
    else:
        assert isinstance(answer, m.AddVoterResponse)
        assert answer.error is error
        assert "lagging behind" in (answer.message or "")
        assert one.replica.voters.ids == (1,)


def test_an_observer_that_was_never_caught_up_is_not_added_however_lately_it_fetched() -> None:
    """RCF-05."""
    one = sole_leader()
    one.append(5)
    one.ask(fetch(4, one.epoch, 1))
    answer = add(one, 4)
    assert isinstance(answer, m.AddVoterResponse)
    assert answer.error is RaftError.REQUEST_TIMED_OUT
    assert one.replica.voters.ids == (1,)
    caught_up(one, 4)
    add(one, 4)
    assert one.replica.voters.has_exactly(key(4))


def test_an_observer_that_nobody_has_seen_is_not_added() -> None:
    """RCF-05."""
    one = sole_leader()
    caught_up(one, 5)
    answer = add(one, 4)
    assert isinstance(answer, m.AddVoterResponse)
    assert (answer.error, one.replica.voters.ids) == (RaftError.REQUEST_TIMED_OUT, (1,))
