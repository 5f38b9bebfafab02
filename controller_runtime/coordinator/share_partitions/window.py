"""Batches of records in flight, in the order of their offsets. They do not overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from controller_runtime.coordinator.share_partitions.locks import Locks
from controller_runtime.coordinator.share_partitions.records import NOBODY, Held, RecordState
from controller_runtime.identifiers import Instant
from controller_runtime.values import dataclass


@dataclass(slots=True, eq=False)
class InFlight:
    """As they were acquired, or as the share coordinator had them."""

    first: int
    last: int
    whole: Held
    """Of all its records, while they are alike."""
    each: dict[int, Held] | None = None
    """By offset, in order, since they are not."""

    def split(self, locks: Locks) -> dict[int, Held]:
        """From now on each record has a state of its own, with what is left of the lock of all."""
        if self.each is None:
            whole, lock = self.whole, self.whole.lock
            self.each = {
                offset: Held(
                    whole.state,
                    whole.count,
                    whole.member,
                    None if lock is None else locks.begin(lock.deadline, offset, offset),
                )
                for offset in range(self.first, self.last + 1)
            }
            whole.unlock(locks)
        return self.each

    def split_at(self, upto: int, locks: Locks, deadline: Instant) -> None:
        """Of what was just acquired only this much is: the rest is as it was before."""
        whole = self.whole
        self.each = {
            offset: Held(whole.state, whole.count, whole.member, locks.begin(deadline, offset, offset))
            if offset <= upto
            else Held(RecordState.AVAILABLE, whole.count - 1, NOBODY)
            for offset in range(self.first, self.last + 1)
        }


class Window:
    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._by_first: dict[int, InFlight] = {}

    def __len__(self) -> int:
        return len(self._firsts)

    def all(self) -> list[InFlight]:
        return [self._by_first[first] for first in self._firsts]

    def add(self, batch: InFlight) -> None:
        if batch.first not in self._by_first:
            self._firsts.insert(bisect_left(self._firsts, batch.first), batch.first)
        self._by_first[batch.first] = batch

    @property
    def first(self) -> InFlight:
        return self._by_first[self._firsts[0]]

    @property
    def last(self) -> InFlight:
        return self._by_first[self._firsts[-1]]

    def floor(self, offset: int) -> InFlight | None:
        """The last that begins here or before."""
        at = bisect_right(self._firsts, offset)
        return self._by_first[self._firsts[at - 1]] if at else None

    def after(self, offset: int) -> int | None:
        """Where the first begins that begins behind this."""
        at = bisect_right(self._firsts, offset)
        return self._firsts[at] if at < len(self._firsts) else None

    def between(self, first: int, last: int) -> list[InFlight]:
        """Those that begin here."""
        begin, end = bisect_left(self._firsts, first), bisect_right(self._firsts, last)
        return [self._by_first[each] for each in self._firsts[begin:end]]

    def drop_before(self, first: int) -> None:
        """All that begin before this."""
        upto = bisect_left(self._firsts, first)
        for each in self._firsts[:upto]:
            del self._by_first[each]
        del self._firsts[:upto]

    def clear(self) -> None:
        self._firsts.clear()
        self._by_first.clear()
