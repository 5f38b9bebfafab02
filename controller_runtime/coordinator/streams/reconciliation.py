"""A member on its way to its target assignment: it gives up first, then it gets what nobody else has any more.

    Stable -> Unrevoked -> (Unreleased) -> Stable

The decisions are those of Kafka's CurrentAssignmentBuilder for streams groups (KIP-1071): an active task must be free
everywhere, and a process has a task once, in whichever role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.streams.members import (
    NOTHING,
    MemberState,
    Owned,
    StreamsMember,
    Target,
    Tasks,
)
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass


class Holders(Protocol):
    """Who has which task, of the whole group."""

    def is_active(self, subtopology: str, index: int) -> bool:
        """Somewhere."""
        ...

    def is_active_on(self, process_id: str, subtopology: str, index: int) -> bool: ...

    def is_passive_on(self, process_id: str, subtopology: str, index: int) -> bool:
        """As a standby or a warm-up."""
        ...


@dataclass(frozen=True, slots=True)
class Course:
    """Where a member is to come, and what it is known to have."""

    epoch: int
    target: Target
    reported: Target | None
    """None: it said nothing of it."""
    holders: Holders


def reconciled(member: StreamsMember, course: Course) -> StreamsMember:
    """The member as it is next; itself if nothing changes. Raises Refused."""
    match member.state:
        case MemberState.STABLE:
            return member if member.epoch == course.epoch else _next(member, member.epoch, course)
        case MemberState.UNREVOKED:
            if course.reported is None or course.reported.has_any(member.revoking):
                return member
            return _next(member, member.epoch + 1, course)
        case MemberState.UNRELEASED:
            return _next(member, member.epoch, course)
        case MemberState.UNKNOWN:
            if course.reported is None or not course.reported.is_empty:
                words = "The streams group member is in a unknown state. The member must abandon all its tasks and "
                raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"{words}rejoin.")
            return _next(member, course.epoch, course)


@dataclass(slots=True)
class _Difference:
    kept: dict[str, frozenset[int]]
    lost: dict[str, frozenset[int]]
    added: dict[str, frozenset[int]]
    must_wait: bool = False


def _next(member: StreamsMember, epoch: int, course: Course) -> StreamsMember:
    holders, own, target = course.holders, member.process_id, course.target

    def is_taken(subtopology: str, index: int) -> bool:
        return holders.is_active(subtopology, index) or holders.is_passive_on(own, subtopology, index)

    def is_here(subtopology: str, index: int) -> bool:
        on_process = holders.is_active_on(own, subtopology, index)
        return on_process or holders.is_passive_on(own, subtopology, index)

    has = member.assigned
    active = _difference(has.without_epochs.active, target.active, is_taken)
    standby = _difference(has.standby, target.standby, is_here)
    warmup = _difference(has.warmup, target.warmup, is_here)
    lost = Owned(_since(active.lost, has.active), standby.lost, warmup.lost)
    kept = _since(active.kept, has.active)
    if not lost.is_empty and (course.reported is None or course.reported.has_any(lost)):
        assigned = Owned(kept, standby.kept, warmup.kept)
        return member.moved(MemberState.UNREVOKED, epoch, assigned, lost)
    for each, indexes in active.added.items():
        kept.setdefault(each, {}).update(dict.fromkeys(sorted(indexes), course.epoch))
    assigned = Owned(kept, _joined(standby.kept, standby.added), _joined(warmup.kept, warmup.added))
    must_wait = active.must_wait or standby.must_wait or warmup.must_wait
    state = MemberState.UNRELEASED if must_wait else MemberState.STABLE
    return member.moved(state, course.epoch, assigned, NOTHING)


class _IsHeld(Protocol):
    def __call__(self, subtopology: str, index: int) -> bool: ...


def _difference(current: Tasks, target: Tasks, is_held: _IsHeld) -> _Difference:
    found = _Difference({}, {}, {})
    for each in dict.fromkeys((*target, *current)):
        has, wants = current.get(each, frozenset()), target.get(each, frozenset())
        missing = wants - has
        free = frozenset(index for index in missing if not is_held(each, index))
        found.must_wait |= len(free) < len(missing)
        for some, where in ((has & wants, found.kept), (has - wants, found.lost), (free, found.added)):
            if some:
                where[each] = some
    return found


def _since(tasks: Tasks, known: Mapping[str, Mapping[int, int]]) -> dict[str, dict[int, int]]:
    return {each: {index: known[each][index] for index in sorted(tasks[each])} for each in tasks}


def _joined(one: Tasks, other: Tasks) -> Tasks:
    return {each: one.get(each, frozenset()) | other.get(each, frozenset()) for each in dict.fromkeys((*one, *other))}
