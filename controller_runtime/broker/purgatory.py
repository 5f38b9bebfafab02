"""Requests that wait: for partitions to reach an offset, until a deadline, and no longer than their connection lasts.

Kafka's purgatory. A waiter is found by each key that it waits for, with the level that the key must reach; by its
deadline; and by its connection. It stays until `end` is called for it, so whoever is woken decides whether it has
waited enough. Those who wait for a key are woken in the order of their levels, and of their arrival where these are
equal. No step looks at waiters that it does not concern: a key has its own sorted list, deadlines are in a heap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, NamedTuple, NewType, TypeVar

from controller_runtime.identifiers import Instant
from controller_runtime.parts.events import ConnectionId

Key = TypeVar("Key", bound=Hashable)
Waiter = TypeVar("Waiter")
Ticket = NewType("Ticket", int)
"""Names a waiter; later ones are larger."""

ANY_LEVEL: Final = 1 << 64
"""Of a key that changed so much that everybody who waits for it has to look again."""
_LAST_TICKET: Final = 1 << 128
_FEW: Final = 64
"""Ended deadlines up to here are not worth clearing away."""


class _Place(NamedTuple, Generic[Waiter]):
    """Where a waiter is written down."""

    waiter: Waiter
    levels: tuple[tuple[Hashable, int], ...]
    connection: ConnectionId | None


class Purgatory(Generic[Key, Waiter]):
    def __init__(self) -> None:
        self._places: dict[Ticket, _Place[Waiter]] = {}
        self._by_key: dict[Hashable, list[tuple[int, Ticket]]] = {}
        self._by_connection: dict[ConnectionId, set[Ticket]] = {}
        self._deadlines: list[tuple[Instant, Ticket]] = []
        self._last = 0

    def __len__(self) -> int:
        return len(self._places)

    def add(
        self,
        waiter: Waiter,
        levels: Iterable[tuple[Key, int]],
        deadline: Instant | None = None,
        connection: ConnectionId | None = None,
    ) -> Ticket:
        """`levels`: each key once. Without a deadline it waits as long as it takes; without a connection it outlives
        who asked.
        """
        self._last += 1
        ticket = Ticket(self._last)
        place = self._places[ticket] = _Place(waiter, tuple(levels), connection)
        for key, level in place.levels:
            waiting = self._by_key.get(key)
            if waiting is None:
                self._by_key[key] = [(level, ticket)]
            else:
                insort(waiting, (level, ticket))
        if connection is not None:
            of_connection = self._by_connection.get(connection)
            if of_connection is None:
                self._by_connection[connection] = {ticket}
            else:
                of_connection.add(ticket)
        if deadline is not None:
            heappush(self._deadlines, (deadline, ticket))
        return ticket

    def end(self, ticket: Ticket) -> Waiter:
        """It waits no more, for nothing."""
        place = self._places.pop(ticket)
        for key, level in place.levels:
            waiting = self._by_key.get(key)
            if waiting is None:
                continue  # This key has woken it.
            at = bisect_left(waiting, (level, ticket))
            if at < len(waiting) and waiting[at] == (level, ticket):
                del waiting[at]
                if not waiting:
                    del self._by_key[key]
        if place.connection is not None:
            of_connection = self._by_connection[place.connection]
            of_connection.discard(ticket)
            if not of_connection:
                del self._by_connection[place.connection]
        if self._deadlines:
            self._clear_deadlines()
        return place.waiter

    def reached(self, key: Key, level: int) -> list[tuple[Ticket, Waiter]]:
        """Who waited for `key` to come this far, each woken once; they may wait for other keys still."""
        waiting = self._by_key.get(key)
        if waiting is None:
            return []
        upto = bisect_right(waiting, (level, _LAST_TICKET))
        woken = [(ticket, self._places[ticket].waiter) for _, ticket in waiting[:upto]]
        del waiting[:upto]
        if not waiting:
            del self._by_key[key]
        return woken

    def first(self, key: Key) -> tuple[Ticket, Waiter] | None:
        """Who will be woken first when `key` has come far enough."""
        waiting = self._by_key.get(key)
        if waiting is None:
            return None
        ticket = waiting[0][1]
        return ticket, self._places[ticket].waiter

    def expired(self, now: Instant) -> list[Waiter]:
        """Whose deadline has come; they wait no more."""
        ended = []
        while self._deadlines and self._deadlines[0][0] <= now:
            ended.append(self.end(self._deadlines[0][1]))
        return ended

    def closed(self, connection: ConnectionId) -> list[Waiter]:
        """Who waited on this connection; they wait no more."""
        return [self.end(ticket) for ticket in sorted(self._by_connection.get(connection, ()))]

    def next_deadline(self) -> Instant | None:
        return self._deadlines[0][0] if self._deadlines else None

    def _clear_deadlines(self) -> None:
        """The first deadline is always of somebody who waits, and most of the others are."""
        if len(self._deadlines) > _FEW + 2 * len(self._places):
            self._deadlines = [entry for entry in self._deadlines if entry[1] in self._places]
            heapify(self._deadlines)
        while self._deadlines and self._deadlines[0][1] not in self._places:
            heappop(self._deadlines)
