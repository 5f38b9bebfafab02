"""One partition for one group that shares it: between its start and its end each record is available, acquired,
acknowledged or archived; before the start all are done with, behind the end none was read.

`end` is the last offset that was read; where nothing is in flight, both are the next offset to be read. What changes is
first noted, then kept by the share coordinator, then settled (`settle`). As in Kafka to the letter: a leader that
follows, of either kind, reads what was kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller_runtime.coordinator.share_partitions.locks import Locks
from controller_runtime.coordinator.share_partitions.records import Held, RecordState
from controller_runtime.coordinator.share_partitions.settings import Limits
from controller_runtime.coordinator.share_partitions.window import InFlight, Window
from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.values import dataclass

MOST_RECORDS: Final = 1 << 20
"""Of a batch that the share coordinator knows: as many as a record batch may have, generously."""
_NOT_FOUND: Final = -1


@dataclass(frozen=True, slots=True)
class Change:
    """Of records that one `held` stands for; it counts when `batch` is kept."""

    held: Held
    batch: StateBatch


@dataclass(slots=True)
class Gap:
    """Offsets of which the share coordinator said nothing, though it knows later ones: they are read again."""

    start: int
    end: int
    """Of the partition when it was begun: later on nothing is missing."""


class SharePartition:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        """Of the group; who uses this sets those of now."""
        self.window: Final = Window()
        self.locks: Final = Locks()
        self.start = self.end = 0
        self.state_epoch = 0
        self.complete_count = 0
        """Records in flight that are acknowledged or archived."""
        self.gap: Gap | None = None
        self.looks_back = False
        """Something in flight may be available again."""

    # Where it begins.

    def begin(self, start: int, state_epoch: int, batches: Sequence[StateBatch]) -> str:
        """As the share coordinator knows it. Why that cannot be; empty: it is begun."""
        self.start, self.state_epoch = start, state_epoch
        expected, gap_start = start, _NOT_FOUND
        for each in batches:
            if each.first < start:
                return f"a batch begins at {each.first}, before the start offset {start}"
            if not 0 <= each.last - each.first < MOST_RECORDS or each.first < expected:
                return f"a batch from {each.first} to {each.last} is none, too large, or overlaps the one before"
            if each.state not in (RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED):
                return f"records from {each.first} on have the unknown state {each.state}"
            if gap_start == _NOT_FOUND and each.first > expected:
                gap_start = expected
            expected = each.last + 1
            state = RecordState(each.state)
            self.window.add(InFlight(each.first, each.last, Held(state, each.count)))
            if state.is_terminal:
                self.complete_count += each.last - each.first + 1
        if not len(self.window):
            self.end = start
            return ""
        self.looks_back = True
        self.end = self.window.last.last
        if gap_start != _NOT_FOUND:
            self.gap = Gap(gap_start, self.end)
        self.advance()
        return ""

    # What is read next.

    @property
    def has_gap(self) -> bool:
        return self.gap is not None and self.gap.end == self.end

    @property
    def in_flight(self) -> int:
        return self.end - self.start + 1 if len(self.window) else 0

    @property
    def has_room(self) -> bool:
        return self.next_offset() != self.end + 1 or self.in_flight < self.limits.max_record_locks

    def next_offset(self) -> int:
        """To be read from."""
        if not len(self.window) or self.start > self.window.last.last:
            self.looks_back = False
            return self.end
        if not self.looks_back:
            return self.end + 1
        found = self._first_available()
        if found == _NOT_FOUND:
            self.looks_back = False
            return self.end + 1
        return found

    def _first_available(self) -> int:
        gap_start = self.gap.start if self.gap is not None and self.has_gap else _NOT_FOUND
        for batch in self.window.all():
            if self.has_gap:
                if batch.first > gap_start:
                    return gap_start
                gap_start = max(batch.last + 1, gap_start)
            if batch.each is None:
                if batch.whole.is_free:
                    return batch.first
                continue
            for offset, held in batch.each.items():
                if held.is_free:
                    return offset
        return _NOT_FOUND

    def close_gap_to(self, offset: int) -> None:
        """Read up to here."""
        if self.gap is not None:
            if self.gap.end == self.end and offset <= self.gap.end:
                self.gap.start = offset
            else:
                self.gap = None

    # The log begins later than it did.

    def log_begins_at(self, offset: int) -> None:
        """What was available before is archived; what is acquired is when its lock expires. None of it is kept."""
        if offset <= self.start:
            return
        if not len(self.window):
            self.start = self.end = offset
            self.complete_count = 0
            return
        removed = self._complete_before(offset)
        if self.archive(self.window.all(), self.start, offset, RecordState.AVAILABLE, counts=False):
            self.looks_back = True
        self.start = offset
        self.complete_count -= removed
        self.end = max(self.end, self.start)

    def _complete_before(self, offset: int) -> int:
        count = 0
        for batch in self.window.all():
            if batch.first >= offset:
                break
            if batch.last < self.start:
                continue
            if batch.each is None:
                if batch.whole.state.is_terminal:
                    count += max(0, min(offset - 1, batch.last) - max(self.start, batch.first) + 1)
                continue
            for each, held in batch.each.items():
                count += self.start <= each < offset and held.state.is_terminal
        return count

    def archive(self, batches: Iterable[InFlight], first: int, end: int, state: RecordState, *, counts: bool) -> bool:
        """Those of these records that are in `state`, from `first` to before `end`. Whether there were any."""
        found = False
        for batch in batches:
            if batch.first >= end:
                break
            is_inside = batch.first >= first and batch.last < end
            if batch.each is None and batch.whole.state is not state:
                continue
            if batch.each is None and is_inside:
                batch.whole.archive(self.locks)
                self.complete_count += batch.last - batch.first + 1 if counts else 0
                found = True
                continue
            for offset, held in batch.split(self.locks).items():
                if first <= offset < end and held.state is state:
                    held.archive(self.locks)
                    self.complete_count += counts
                    found = True
        return found

    # Changes.

    def settle(self, changes: Sequence[Change], *, is_kept: bool) -> bool:
        """Of changes that were begun: the share coordinator has them, or never will. Whether the start moves."""
        for change in changes:
            change.held.end_change(self.locks, is_kept=is_kept)
            if change.held.state is RecordState.AVAILABLE:
                self.looks_back = True
            if not is_kept and RecordState(change.batch.state).is_terminal and not change.held.state.is_terminal:
                self.complete_count -= self.counted(change.batch.first, change.batch.last)
        return is_kept and self.advance()

    def counted(self, first: int, last: int) -> int:
        """Of these records how many lie at or behind the start."""
        return max(0, last - max(self.start, first) + 1)

    def advance(self) -> bool:
        """The start moves behind what is done with. Whether it does."""
        if not self._may_advance():
            return False
        last, count = self._done()
        if last == _NOT_FOUND:
            return False
        if last == self.window.last.last:
            self.start = self.end = last + 1
            for batch in self.window.all():
                self._unlock(batch)
            self.window.clear()
            self.complete_count = 0
            return True
        reached = self.window.floor(last)
        assert reached is not None, "it was found there"
        if last == reached.last:
            following = self.window.after(last)
            assert following is not None, "it is not the last one"
            self.start = max(self.start, following)
            if self.gap is not None and self.has_gap:
                self.start = min(self.gap.start, self.start)
            self.window.drop_before(reached.last + 1)
        else:
            self.start = max(self.start, last + 1)
            self.window.drop_before(reached.first)
        self.complete_count -= count
        return True

    def _unlock(self, batch: InFlight) -> None:
        for held in (batch.whole, *(batch.each or {}).values()):
            held.unlock(self.locks)

    def _may_advance(self) -> bool:
        batch = self.window.floor(self.start)
        if batch is None:
            return False
        held = batch.whole if batch.each is None else batch.each.get(self.start)
        return held is not None and not held.is_changing and held.state.is_terminal

    def _done(self) -> tuple[int, int]:
        """The last offset up to which everything is done with, and how many of these count as complete."""
        last, count = _NOT_FOUND, 0
        for batch in self.window.all():
            if self.gap is not None and self.has_gap and batch.last >= self.gap.start:
                break
            if batch.each is None:
                if batch.whole.is_changing or not batch.whole.state.is_terminal:
                    break
                last = batch.last
                count += self.counted(batch.first, batch.last)
                continue
            for offset, held in batch.each.items():
                if held.is_changing or not held.state.is_terminal:
                    return last, count
                last = offset
                count += offset >= self.start
        return last, count
