"""Who waits is told when a key has come far enough, when time is up, and never after it waits no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.broker import purgatory
from controller_runtime.broker.purgatory import ANY_LEVEL, Purgatory
from controller_runtime.identifiers import Instant
from controller_runtime.parts.events import ConnectionId

pytestmark = pytest.mark.unit

ONE, TWO = ConnectionId(1), ConnectionId(2)


def at(seconds: float) -> Instant:
    return Instant(seconds)


def waiters(told: list[tuple[purgatory.Ticket, str]]) -> list[str]:
    return [waiter for _, waiter in told]


def test_a_key_tells_who_waited_for_so_much_in_order_and_once() -> None:
    waiting = Purgatory[str, str]()
    for name, level in (("far", 9), ("near", 3), ("near too", 3), ("nearest", 1)):
        waiting.add(name, [("a", level)])
    assert waiters(waiting.reached("a", 3)) == ["nearest", "near", "near too"]
    assert waiters(waiting.reached("a", 8)) == []
    assert waiters(waiting.reached("a", ANY_LEVEL)) == ["far"]


def test_who_waits_for_two_keys_is_told_by_each_until_it_ends() -> None:
    waiting = Purgatory[str, str]()
    waiting.add("both", [("a", 1), ("b", 1)])
    ended = waiting.add("ended", [("a", 1), ("b", 1)])
    assert waiters(waiting.reached("a", 1)) == ["both", "ended"]
    assert waiting.end(ended) == "ended"
    assert waiters(waiting.reached("b", 1)) == ["both"]
    assert len(waiting) == 1


def test_a_deadline_ends_the_wait_and_the_next_one_is_known() -> None:
    waiting = Purgatory[str, str]()
    for name, deadline in (("late", 5.0), ("soon", 2.0), ("sooner", 1.0)):
        waiting.add(name, [("a", 1)], at(deadline))
    waiting.add("patient", [("a", 1)])
    assert waiting.next_deadline() == 1.0
    assert waiting.expired(at(0.9)) == []
    assert waiting.expired(at(2.0)) == ["sooner", "soon"]
    assert waiting.next_deadline() == 5.0
    assert waiters(waiting.reached("a", 1)) == ["late", "patient"]


def test_the_next_deadline_is_of_somebody_who_still_waits() -> None:
    waiting = Purgatory[str, str]()
    first = waiting.add("first", [], at(1.0))
    waiting.add("second", [], at(2.0))
    waiting.end(first)
    assert waiting.next_deadline() == 2.0
    assert waiting.expired(at(9.0)) == ["second"]
    assert waiting.next_deadline() is None


def test_a_connection_that_ends_takes_its_waiters_with_it_and_no_others() -> None:
    waiting = Purgatory[str, str]()
    waiting.add("gone", [("a", 1)], at(1.0), ONE)
    waiting.add("gone too", [("b", 1)], None, ONE)
    waiting.add("stays", [("a", 1)], at(2.0), TWO)
    waiting.add("nobody's", [("a", 1)])
    assert waiting.closed(ONE) == ["gone", "gone too"]
    assert waiting.closed(ONE) == []
    assert (waiting.next_deadline(), waiters(waiting.reached("a", 1))) == (2.0, ["stays", "nobody's"])


def test_who_came_first_is_first_until_it_ends() -> None:
    waiting = Purgatory[str, str]()
    one, two = waiting.add("one", [("a", 0), ("b", 0)]), waiting.add("two", [("a", 0)])
    assert (waiting.first("a"), waiting.first("b"), waiting.first("c")) == ((one, "one"), (one, "one"), None)
    waiting.end(one)
    assert (waiting.first("a"), waiting.first("b")) == ((two, "two"), None)


def test_those_who_ended_leave_nothing_behind() -> None:
    """A quiet partition that is asked for every half second, and produce requests that are done long before their 30
    seconds are up.
    """
    waiting = Purgatory[str, str]()
    deadlines = [9.0, 4.0, 7.0, 1.0, 8.0]
    for deadline in deadlines:
        waiting.add(f"patient until {deadline}", [("quiet", 1)], at(deadline), TWO)
    for number in range(10_000):
        waiting.end(waiting.add("quick", [("quiet", 5), ("busy", number)], at(30.0 + number), ONE))
    assert len(waiting._deadlines) <= purgatory._FEW + 2 * 6 + 1
    assert (list(waiting._by_key), list(waiting._by_connection), len(waiting)) == (["quiet"], [TWO], 5)
    assert len(waiting._by_key["quiet"]) == 5
    assert waiting.expired(at(8.0)) == [f"patient until {deadline}" for deadline in sorted(deadlines)[:-1]]
    assert len(waiting.reached("quiet", 1)) == 1
    assert (waiting._by_key, waiting.first("quiet")) == ({}, None)


class Model:
    """The same by looking at everybody each time."""

    def __init__(self) -> None:
        self.all: dict[int, tuple[dict[str, int], float | None, ConnectionId]] = {}

    def reached(self, key: str, level: int) -> list[int]:
        found = sorted(
            (levels[key], name) for name, (levels, _, _) in self.all.items() if levels.get(key, 1 << 65) <= level
        )
        for _, name in found:
            del self.all[name][0][key]
        return [name for _, name in found]

    def expired(self, now: float) -> list[int]:
        found = sorted((at, name) for name, (_, at, _) in self.all.items() if at is not None and at <= now)
        for _, name in found:
            del self.all[name]
        return [name for _, name in found]

    def closed(self, connection: ConnectionId) -> list[int]:
        found = [name for name, (_, _, of) in self.all.items() if of == connection]
        for name in found:
            del self.all[name]
        return found

    def next_deadline(self) -> float | None:
        return min((at for _, at, _ in self.all.values() if at is not None), default=None)


STEPS = st.one_of(
    st.tuples(
        st.just("add"),
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 5)),
        st.none() | st.integers(0, 9),
        st.sampled_from((ONE, TWO)),
    ),
    st.tuples(st.just("end"), st.integers(0, 30)),
    st.tuples(st.just("reached"), st.sampled_from("ab"), st.integers(0, 5)),
    st.tuples(st.just("expired"), st.integers(0, 9)),
    st.tuples(st.just("closed"), st.sampled_from((ONE, TWO))),
)


@given(st.lists(STEPS, max_size=60))
def test_whatever_happens_it_says_what_looking_at_everybody_says(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    waiting, model = Purgatory[str, int](), Model()
    tickets: dict[int, purgatory.Ticket] = {}
    for number, (what, *how) in enumerate(steps):
        if what == "add":
            levels, deadline, connection = how
            due = None if deadline is None else at(deadline)
            tickets[number] = waiting.add(number, levels.items(), due, connection)
            model.all[number] = (dict(levels), due, connection)
        elif what == "end":
            if how[0] in model.all:
                del model.all[how[0]]
                assert waiting.end(tickets[how[0]]) == how[0]
        elif what == "reached":
            assert [waiter for _, waiter in waiting.reached(*how)] == model.reached(*how)
        elif what == "expired":
            assert waiting.expired(at(*how)) == model.expired(*how)
        else:
            assert waiting.closed(*how) == model.closed(*how)
        assert (waiting.next_deadline(), len(waiting)) == (model.next_deadline(), len(model.all))
