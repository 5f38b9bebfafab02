"""The state of one record that is in flight, or of a batch whose records have all the same.

A change counts only when the share coordinator has kept it. Until then nothing else changes the record; if it is not
kept, the record is what it was before: acquired, or released if its lock has expired meanwhile.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from controller_runtime.coordinator.share_partitions.locks import Lock, Locks
from controller_runtime.values import dataclass

NOBODY: Final = ""


class RecordState(IntEnum):
    """As it is recorded."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


@dataclass(frozen=True, slots=True)
class _Before:
    state: RecordState
    member: str
    limit: int


@dataclass(slots=True, eq=False)
class Held:
    """What is known of one record, or of several alike."""

    state: RecordState
    count: int
    """How often it was delivered."""
    member: str = NOBODY
    lock: Lock | None = None
    before: _Before | None = None
    """A change is being kept; this is what it would go back to."""
    is_gone: bool = False
    """It is not in the log any more, or is of an aborted transaction: it stays archived, whatever is kept."""

    @property
    def is_changing(self) -> bool:
        return self.before is not None

    @property
    def is_free(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.before is None

    def change(self, state: RecordState, member: str, limit: int, *, delivers: bool = False) -> bool:
        """At once. False: it cannot be. What was delivered often enough is archived instead of released."""
        if self.is_changing:
            return False
        if state is RecordState.AVAILABLE and self.count >= limit:
            state = RecordState.ARCHIVED
        if not _may_follow(self.state, state):
            return False
        self.state, self.member = state, member
        if delivers:
            self.count += 1
        return True

    def begin_change(self, state: RecordState, limit: int) -> bool:
        """Of what is acquired, until `end_change`."""
        before = _Before(self.state, self.member, limit)
        if not self.change(state, NOBODY, limit):
            return False
        self.before = before
        return True

    def end_change(self, locks: Locks, *, is_kept: bool) -> None:
        before, self.before = self.before, None
        if is_kept or self.is_gone:
            self.unlock(locks)
            return
        assert before is not None, "a change was begun"
        if self.lock is not None and self.lock.has_expired:
            self.state = RecordState.ARCHIVED if self.count >= before.limit else RecordState.AVAILABLE
            self.member = NOBODY
            self.unlock(locks)
        else:
            self.state, self.member = before.state, before.member

    def archive(self, locks: Locks) -> None:
        self.is_gone, self.state, self.member = True, RecordState.ARCHIVED, NOBODY
        self.unlock(locks)

    def unlock(self, locks: Locks) -> None:
        if self.lock is not None:
            locks.end(self.lock)
            self.lock = None


def _may_follow(state: RecordState, follower: RecordState) -> bool:
    if state is RecordState.AVAILABLE:
        return follower is RecordState.ACQUIRED
    return state is RecordState.ACQUIRED and follower is not RecordState.ACQUIRED
