from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from controller_runtime.network.connection_quotas import Admission, ConnectionLimits, ConnectionQuotas

HERE, THERE = b"\x7f\x00\x00\x01", b"\x0a\x00\x00\x01"


class Visitor:
    def __init__(self, listener_name: str = "CLIENTS", address: bytes = HERE, at: float = 0.0) -> None:
        self.listener_name = listener_name
        self.peer_address = address
        self.last_activity = at
        self.is_in = False
        self.turned_away = ""

    def let_in(self) -> None:
        self.is_in = True

    def turn_away(self, why: str) -> None:
        self.is_in, self.turned_away = False, why


def quotas_of(
    *listeners: str,
    of_all: int = 100,
    per_address: int = 100,
    of_address: Mapping[bytes, int] | None = None,
    of_listener: Mapping[str, int] | None = None,
    protected: str | None = None,
) -> ConnectionQuotas:
    limits = ConnectionLimits(of_all, of_listener or {}, per_address, of_address or {})
    quotas = ConnectionQuotas(limits, protected=protected)
    for name in listeners or ("CLIENTS",):
        quotas.add_listener(name, most_waiting=3)
    return quotas


def enter(quotas: ConnectionQuotas, visitor: Visitor) -> Visitor:
    visitor.is_in = quotas.enter(visitor) is Admission.IN
    return visitor


def test_who_comes_beyond_the_bound_waits_in_the_order_of_arrival() -> None:
    quotas = quotas_of(of_all=2)
    first, second, third, fourth = (enter(quotas, Visitor()) for _ in range(4))
    assert [one.is_in for one in (first, second, third, fourth)] == [True, True, False, False]
    quotas.leave(first)
    assert (third.is_in, fourth.is_in) == (True, False)
    quotas.leave(second)
    assert fourth.is_in


def test_who_gives_up_waiting_takes_no_place() -> None:
    quotas = quotas_of(of_all=1)
    first, second, third = (enter(quotas, Visitor()) for _ in range(3))
    quotas.leave(second)
    quotas.leave(first)
    assert not second.is_in
    assert third.is_in


def test_no_more_wait_than_a_backlog_has() -> None:
    quotas = quotas_of(of_all=0)
    assert [quotas.enter(Visitor()) for _ in range(4)] == [*[Admission.WAITS] * 3, Admission.REFUSED]


def test_one_address_has_its_own_bound_and_is_refused_beyond_it() -> None:
    """QUO-06, SEC-07"""
    quotas = quotas_of(per_address=1, of_address={THERE: 2})
    assert [quotas.enter(Visitor(address=HERE)) for _ in range(2)] == [Admission.IN, Admission.REFUSED]
    assert [quotas.enter(Visitor(address=THERE)) for _ in range(3)] == [Admission.IN, Admission.IN, Admission.REFUSED]


def test_an_address_is_counted_on_all_listeners_together() -> None:
    quotas = quotas_of("CLIENTS", "OTHERS", per_address=1)
    assert quotas.enter(Visitor("CLIENTS")) is Admission.IN
    assert quotas.enter(Visitor("OTHERS")) is Admission.REFUSED


def test_who_waited_is_refused_when_its_address_has_its_fill_meanwhile() -> None:
    quotas = quotas_of(of_all=1, per_address=1)
    other = enter(quotas, Visitor(address=THERE))
    waiting, same = (enter(quotas, Visitor(address=HERE)) for _ in range(2))
    quotas.limit(ConnectionLimits(of_all=2, per_address=1))
    assert other.is_in
    assert waiting.is_in
    quotas.limit(ConnectionLimits(of_all=3, per_address=1))
    assert same.turned_away == "too many connections from its address"


def test_a_listener_has_its_own_bound_and_others_go_on() -> None:
    quotas = quotas_of("CLIENTS", "OTHERS", of_listener={"CLIENTS": 1})
    assert [quotas.enter(Visitor("CLIENTS")) for _ in range(2)] == [Admission.IN, Admission.WAITS]
    assert [quotas.enter(Visitor("OTHERS")) for _ in range(3)] == [Admission.IN] * 3


@pytest.mark.parametrize("end", ["leaves", "limit"])
def test_room_anywhere_is_room_for_who_waits_on_any_listener(end: str) -> None:
    quotas = quotas_of("CLIENTS", "OTHERS", of_all=1)
    first, second = enter(quotas, Visitor("CLIENTS")), enter(quotas, Visitor("OTHERS"))
    assert not second.is_in
    if end == "leaves":
        quotas.leave(first)
    else:
        quotas.limit(ConnectionLimits(of_all=2))
    assert second.is_in


def test_between_brokers_there_is_always_room_and_who_was_silent_longest_pays() -> None:
    """QUO-08, SEC-08"""
    quotas = quotas_of("CLIENTS", "BROKERS", of_all=2, protected="BROKERS")
    silent, lively = enter(quotas, Visitor(at=1.0)), enter(quotas, Visitor(at=2.0))
    broker = enter(quotas, Visitor("BROKERS", at=0.0))
    assert broker.is_in
    assert not silent.is_in
    assert "the 2 that all listeners may have" in silent.turned_away
    assert lively.is_in


def test_the_listener_between_brokers_has_no_more_than_all_may_have_unless_it_has_a_bound_of_its_own() -> None:
    quotas = quotas_of("CLIENTS", "BROKERS", of_all=1, protected="BROKERS")
    assert [quotas.enter(Visitor("BROKERS")) for _ in range(2)] == [Admission.IN, Admission.WAITS]
    quotas = quotas_of("CLIENTS", "BROKERS", of_all=1, of_listener={"BROKERS": 3}, protected="BROKERS")
    assert [quotas.enter(Visitor("BROKERS")) for _ in range(3)] == [Admission.IN] * 3


def test_a_lone_listener_is_not_protected() -> None:
    quotas = quotas_of("BROKERS", of_all=1, of_listener={"BROKERS": 9}, protected="BROKERS")
    assert [quotas.enter(Visitor("BROKERS")) for _ in range(2)] == [Admission.IN, Admission.WAITS]


def test_a_lower_bound_closes_those_who_were_silent_longest() -> None:
    quotas = quotas_of(of_all=4)
    visitors = [enter(quotas, Visitor(at=at)) for at in (4.0, 1.0, 3.0, 2.0)]
    quotas.limit(ConnectionLimits(of_all=2))
    assert [one.is_in for one in visitors] == [True, False, True, False]
    for one in visitors:  # connections that are closed tell it later, once more
        quotas.leave(one)
    assert [quotas.enter(Visitor()) for _ in range(3)] == [Admission.IN, Admission.IN, Admission.WAITS]


def test_a_lower_bound_of_an_address_closes_nobody() -> None:
    quotas = quotas_of()
    visitors = [enter(quotas, Visitor()) for _ in range(3)]
    quotas.limit(ConnectionLimits(per_address=1))
    assert all(one.is_in for one in visitors)
    assert quotas.enter(Visitor()) is Admission.REFUSED


class Pace:
    """Implements `connection_quotas.Pace` with waits that a test names; time passes when it says so."""

    def __init__(self, *of_listener: float, of_address: tuple[float, ...] = ()) -> None:
        self.waits, self.waits_of_addresses = list(of_listener), list(of_address)
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def of_listener(self, name: str, *, protected: bool) -> float:
        del name, protected
        return self.waits.pop(0)

    def of_address(self, address: bytes) -> float:
        del address
        return self.waits_of_addresses.pop(0) if self.waits_of_addresses else 0.0

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.calls.append((seconds, call))

    def time_passes(self) -> None:
        self.calls.pop(0)[1]()


def paced(pace: Pace, *listeners: str, of_all: int = 100) -> ConnectionQuotas:
    quotas = ConnectionQuotas(ConnectionLimits(of_all), pace=pace)
    for name in listeners or ("CLIENTS",):
        quotas.add_listener(name, most_waiting=3)
    return quotas


def test_who_comes_too_fast_waits_one_after_another_and_is_counted_once() -> None:
    """QUO-07, SEC-09, KIP-612."""
    pace = Pace(0.0, 0.5, 0.0, 0.25)
    quotas = paced(pace)
    first, second, third, fourth = (enter(quotas, Visitor()) for _ in range(4))
    assert [one.is_in for one in (first, second, third, fourth)] == [True, False, False, False]
    assert [seconds for seconds, _ in pace.calls] == [0.5]
    assert quotas.enter(second) is Admission.WAITS
    pace.time_passes()
    assert [one.is_in for one in (second, third, fourth)] == [True, True, False]
    assert pace.waits == []
    pace.time_passes()
    assert fourth.is_in


def test_other_listeners_do_not_wait_for_one_that_is_too_fast() -> None:
    pace = Pace(0.5, 0.0)
    quotas = paced(pace, "CLIENTS", "OTHERS")
    assert quotas.enter(Visitor("CLIENTS")) is Admission.WAITS
    assert quotas.enter(Visitor("OTHERS")) is Admission.IN


def test_who_gives_up_does_not_let_the_next_one_in_early() -> None:
    pace = Pace(0.5, 0.25)
    quotas = paced(pace)
    first, second = enter(quotas, Visitor()), enter(quotas, Visitor())
    quotas.leave(first)
    assert not second.is_in
    pace.time_passes()
    assert not second.is_in, "it is counted itself"
    pace.time_passes()
    assert second.is_in


def test_time_alone_makes_no_room() -> None:
    quotas = paced(pace := Pace(0.0, 0.5), of_all=1)
    first, second = enter(quotas, Visitor()), enter(quotas, Visitor())
    quotas.leave(first)
    third = enter(quotas, Visitor())
    assert not second.is_in
    quotas.limit(ConnectionLimits(0))
    pace.time_passes()
    assert not second.is_in
    assert not third.is_in


def test_who_comes_too_fast_from_its_address_is_closed_after_a_while_and_holds_no_place() -> None:
    """QUO-07, SEC-09; closed at once it would be back at once."""
    pace = Pace(0.0, 0.0, 0.0, of_address=(0.75, 0.75))
    quotas = paced(pace, of_all=1)
    hasty, gone = enter(quotas, Visitor()), enter(quotas, Visitor())
    assert quotas.enter(hasty) is Admission.WAITS
    assert enter(quotas, Visitor(address=THERE)).is_in
    quotas.leave(gone)
    pace.time_passes()
    pace.time_passes()
    assert (hasty.turned_away, gone.turned_away) == ("connections are made too fast from its address", "")


def test_no_more_are_kept_to_be_closed_than_there_is_room_for() -> None:
    """ATK-20: a flood is not held in memory."""
    quotas = paced(Pace(*[0.0] * 1001, of_address=(1.0,) * 1001))
    assert [quotas.enter(Visitor()) for _ in range(1001)] == [Admission.WAITS] * 1000 + [Admission.REFUSED]
