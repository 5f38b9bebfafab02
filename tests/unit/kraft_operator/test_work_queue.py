"""The queue: once each, one at a time, later and later after failures."""

from __future__ import annotations

import threading

import pytest

from kraft_operator.keys import Key, owner_of
from kraft_operator.metrics import Metrics
from kraft_operator.work_queue import FIRST_BACKOFF, MAX_BACKOFF, WorkQueue

pytestmark = pytest.mark.unit

A, B = Key("n", "a"), Key("n", "b")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def queue(clock: Clock) -> WorkQueue:
    return WorkQueue(clock, lambda: 0.5, Metrics())


def test_a_storm_of_events_is_one_piece_of_work() -> None:
    found = queue(Clock())
    for _ in range(30):
        found.add(A)
    assert found.take() == A
    found.add(B)
    assert found.take() == B


def test_a_key_added_while_it_is_worked_on_comes_once_more_and_only_afterwards() -> None:
    found = queue(Clock())
    found.add(A)
    assert found.take() == A
    found.add(A)
    found.add(B)
    assert found.take() == B
    found.done(A, None)
    assert found.take() == A


def test_work_asked_for_later_waits_and_an_event_overtakes_it() -> None:
    clock = Clock()
    found = queue(clock)
    found.add(A, 10.0)
    found.add(B)
    assert found.take() == B
    found.add(A)
    assert found.take() == A


def test_failures_wait_longer_each_time_up_to_a_bound_and_success_forgets_them() -> None:
    clock = Clock()
    found = queue(clock)
    waits = []
    for _ in range(16):
        found.add(A)
        clock.now += MAX_BACKOFF
        assert found.take() == A
        waits.append(found.failed(A))
    assert waits[:3] == [FIRST_BACKOFF * 0.75, FIRST_BACKOFF * 1.5, FIRST_BACKOFF * 3]
    assert waits[-1] == MAX_BACKOFF * 0.75
    clock.now += MAX_BACKOFF
    assert found.take() == A
    found.done(A, None)
    found.add(A)
    assert found.take() == A
    assert found.failed(A) == FIRST_BACKOFF * 0.75


def test_a_server_that_names_its_delay_is_obeyed() -> None:
    found = queue(Clock())
    found.add(A)
    found.take()
    assert found.failed(A, at_least=17.0) == 17.0


def test_closing_wakes_those_who_wait() -> None:
    found = queue(Clock())
    taken: list[Key | None] = []
    thread = threading.Thread(target=lambda: taken.append(found.take()))
    thread.start()
    found.close()
    thread.join(5)
    assert taken == [None]


def test_a_child_names_its_cluster_by_label() -> None:
    assert owner_of("n", {"kraft.quorate.dev/cluster": "a"}) == A
    assert owner_of("n", {}) is None
    assert owner_of(None, {"kraft.quorate.dev/cluster": "a"}) is None
