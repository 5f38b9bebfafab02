"""How many connections the listeners of one role may have: together, each of them, and from one address; and how many a
second may be made (KIP-612).

As in Apache Kafka: a connection beyond the bound of all listeners, or of its own, waits until another one ends, in the
order of arrival; one beyond the bound of its address is closed. The listener between brokers is protected where there
are others: it is let in beyond the bound of all, and whoever has been silent longest on another listener is closed for
it. Who comes too fast waits too, one after another; who comes too fast from one address is closed after a while, so
that it does not come back at once. Of those that wait no more are held than a listener's backlog has; Kafka leaves
them to the kernel.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial
from typing import Final, Protocol

from controller_runtime.values import dataclass, field

NO_LIMIT: Final = 2**31 - 1
MAX_DELAYED: Final = 1000
"""Connections that are kept for a while before they are closed."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    of_all: int = NO_LIMIT
    of_listener: Mapping[str, int] = field(default_factory=dict)
    """By the listener's name; that of all holds for a listener without its own."""
    per_address: int = NO_LIMIT
    of_address: Mapping[bytes, int] = field(default_factory=dict)
    """By packed address, instead of `per_address`."""


class Guest(Protocol):
    """A connection as it is counted."""

    peer_address: bytes
    last_activity: float

    @property
    def listener_name(self) -> str: ...

    def let_in(self) -> None:
        """It waited, and waits no more."""
        ...

    def turn_away(self, why: str) -> None:
        """Close it. It is not counted any more."""
        ...


class Pace(Protocol):
    """How fast connections are made. Both count one, and say how many seconds are to pass before it may go on."""

    def of_listener(self, name: str, *, protected: bool) -> float: ...

    def of_address(self, address: bytes) -> float: ...

    def later(self, seconds: float, call: Callable[[], None]) -> None: ...


class Unbounded:
    """Implements `Pace`: as fast as they like."""

    def of_listener(self, name: str, *, protected: bool) -> float:
        del name, protected
        return 0.0

    def of_address(self, address: bytes) -> float:
        del address
        return 0.0

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        raise AssertionError(f"nobody waits for {seconds} s to {call}")


class Admission(Enum):
    IN = auto()
    WAITS = auto()
    REFUSED = auto()


class ConnectionQuotas:
    def __init__(
        self, limits: ConnectionLimits | None = None, *, protected: str | None = None, pace: Pace | None = None
    ) -> None:
        """`protected`: the listener between brokers, if these are a broker's."""
        self._pace = pace or Unbounded()
        self.limits = limits or ConnectionLimits()
        self._protected = protected
        self._inside: set[Guest] = set()
        self._of_listener: Counter[str] = Counter()
        self._of_address: Counter[bytes] = Counter()
        self._waiting: dict[str, deque[Guest]] = {}
        self._most_waiting: dict[str, int] = {}
        self._counted: dict[str, Guest] = {}
        """By listener: who comes next, and has been counted as made."""
        self._pausing: set[str] = set()
        """Listeners where it is too early for who comes next."""
        self._delayed: set[Guest] = set()

    def add_listener(self, name: str, most_waiting: int) -> None:
        self._waiting[name], self._most_waiting[name] = deque(), most_waiting

    def waiting(self, name: str) -> tuple[Guest, ...]:
        return tuple(self._waiting[name])

    def enter(self, guest: Guest) -> Admission:
        """Who is counted, or waits, already stays what it is."""
        name = guest.listener_name
        queue = self._waiting[name]
        if guest in self._inside:
            return Admission.IN
        if guest in queue or guest in self._delayed:
            return Admission.WAITS
        if queue or not self._has_slot(name) or not self._is_in_time(guest):
            if len(queue) >= self._most_waiting[name]:
                return Admission.REFUSED
            queue.append(guest)
            return Admission.WAITS
        admission = self._admit(guest)
        self._close_excess()
        return admission

    def leave(self, guest: Guest) -> None:
        """It ended, wherever it was."""
        if guest in self._inside:
            self._forget(guest)
            self._let_in()
        elif guest in self._delayed:
            self._delayed.discard(guest)
        elif guest in (queue := self._waiting[guest.listener_name]):
            queue.remove(guest)
            if self._counted.get(guest.listener_name) is guest:
                del self._counted[guest.listener_name]

    def limit(self, limits: ConnectionLimits) -> None:
        """From now on."""
        self.limits = limits
        self._close_excess()
        self._let_in()

    def _has_slot(self, name: str) -> bool:
        limits = self.limits
        if self._of_listener[name] >= limits.of_listener.get(name, limits.of_all):
            return False
        return self._is_protected(name) or len(self._inside) < limits.of_all

    def _is_protected(self, name: str) -> bool:
        return name == self._protected and len(self._waiting) > 1

    def _is_in_time(self, guest: Guest) -> bool:
        """Of who comes next on its listener: once it is counted, it waits until the time has passed."""
        name = guest.listener_name
        if self._counted.get(name) is not guest and name not in self._pausing:
            self._counted[name] = guest
            wait = self._pace.of_listener(name, protected=self._is_protected(name))
            if wait > 0:
                self._pausing.add(name)
                self._pace.later(wait, partial(self._go_on, name))
        return name not in self._pausing

    def _go_on(self, name: str) -> None:
        self._pausing.discard(name)
        self._let_in()

    def _admit(self, guest: Guest) -> Admission:
        """It is its turn, and there is room."""
        self._counted.pop(guest.listener_name, None)
        wait = self._pace.of_address(guest.peer_address)
        if wait > 0:
            if len(self._delayed) >= MAX_DELAYED:
                return Admission.REFUSED
            self._delayed.add(guest)
            self._pace.later(wait, partial(self._end_delayed, guest))
            return Admission.WAITS
        return Admission.IN if self._count(guest) else Admission.REFUSED

    def _end_delayed(self, guest: Guest) -> None:
        if guest in self._delayed:
            self._delayed.discard(guest)
            guest.turn_away("connections are made too fast from its address")

    def _count(self, guest: Guest) -> bool:
        """Whether its address may have one more."""
        address = guest.peer_address
        if self._of_address[address] >= self.limits.of_address.get(address, self.limits.per_address):
            if not self._of_address[address]:
                del self._of_address[address]
            return False
        self._inside.add(guest)
        self._of_listener[guest.listener_name] += 1
        self._of_address[address] += 1
        return True

    def _forget(self, guest: Guest) -> None:
        self._inside.discard(guest)
        self._of_listener[guest.listener_name] -= 1
        self._of_address[guest.peer_address] -= 1
        if not self._of_address[guest.peer_address]:
            del self._of_address[guest.peer_address]

    def _let_in(self) -> None:
        for name, queue in self._waiting.items():
            while queue and self._has_slot(name) and self._is_in_time(queue[0]):
                guest = queue.popleft()
                match self._admit(guest):
                    case Admission.IN:
                        guest.let_in()
                    case Admission.REFUSED:
                        guest.turn_away("too many connections from its address")
                    case Admission.WAITS:
                        pass
        self._close_excess()

    def _close_excess(self) -> None:
        excess = len(self._inside) - self.limits.of_all
        if excess <= 0:
            return
        others = [guest for guest in self._inside if not self._is_protected(guest.listener_name)]
        for guest in sorted(others, key=lambda one: one.last_activity)[:excess]:
            self._forget(guest)
            guest.turn_away(f"there are more connections than the {self.limits.of_all} that all listeners may have")
