"""A member on its way to its target assignment: it gives up first, then it gets what nobody else has any more.

    Stable -> Unrevoked -> (Unreleased) -> Stable

A member that has partitions to give up stays in its epoch until it reports that it has them no more; then it goes to
the epoch of the target, and gets what is free. Epochs never grow by themselves on the way (KAFKA-19974): two members
would own one partition. The decisions are those of Kafka's CurrentAssignmentBuilder (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_runtime.coordinator.consumer.members import (
    NOTHING,
    ConsumerMember,
    MemberState,
    Owned,
    Target,
    has_any,
)
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

Reported = Sequence[tuple[Uuid, Sequence[int]]]
"""What a member says that it has: topic ids and partitions."""


@dataclass(frozen=True, slots=True)
class Course:
    """Where a member is to come, and what it is known to have."""

    epoch: int
    target: Target
    reported: Reported | None
    """None: it said nothing of it."""
    subscribed: frozenset[Uuid]
    has_new_subscription: bool
    is_held: Callable[[Uuid, int], bool]
    """Whether any member of the group has this partition."""


def reconciled(member: ConsumerMember, course: Course) -> ConsumerMember:
    """The member as it is next; itself if nothing changes. Raises Refused."""
    match member.state:
        case MemberState.STABLE:
            if member.epoch != course.epoch:
                return _next(member, member.epoch, course)
            return _shrunk(member, course) if course.has_new_subscription else member
        case MemberState.UNREVOKED:
            if has_any(course.reported, member.revoking):
                return _shrunk(member, course) if course.has_new_subscription else member
            return _next(member, member.epoch, course)
        case MemberState.UNRELEASED:
            return _next(member, member.epoch, course)
        case MemberState.UNKNOWN:
            if course.reported is None or course.reported:
                words = "The consumer group member is in a unknown state. The member must abandon all its partitions "
                raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"{words}and rejoin.")
            return _next(member, course.epoch, course)


def _shrunk(member: ConsumerMember, course: Course) -> ConsumerMember:
    """What is subscribed no more is given up at once, before there is another target."""
    gone = {topic_id for topic_id in member.assigned if topic_id not in course.subscribed}
    if not gone:
        return member
    assigned = {topic_id: indexes for topic_id, indexes in member.assigned.items() if topic_id not in gone}
    revoking = {topic_id: dict(indexes) for topic_id, indexes in member.revoking.items()}
    for topic_id in gone:
        revoking.setdefault(topic_id, {}).update(member.assigned[topic_id])
    if has_any(course.reported, revoking):
        return member.moved(MemberState.UNREVOKED, member.epoch, assigned, revoking)
    return member.moved(member.state, member.epoch, assigned, member.revoking)


def _next(member: ConsumerMember, epoch: int, course: Course) -> ConsumerMember:
    assigned: dict[Uuid, dict[int, int]] = {}
    revoking: dict[Uuid, dict[int, int]] = {}
    added: dict[Uuid, list[int]] = {}
    must_wait = False
    for topic_id in dict.fromkeys((*course.target, *member.assigned)):
        target = course.target.get(topic_id, frozenset()) if topic_id in course.subscribed else frozenset[int]()
        current = member.assigned.get(topic_id, {})
        kept = {index: at for index, at in current.items() if index in target}
        lost = {index: at for index, at in current.items() if index not in target}
        still = member.revoking.get(topic_id, {})
        wanted = sorted(index for index in target if index not in kept)
        free = [index for index in wanted if not course.is_held(topic_id, index) or index in still]
        must_wait |= len(free) < len(wanted)
        for found, where in ((kept, assigned), (lost, revoking)):
            if found:
                where[topic_id] = found
        if free:
            added[topic_id] = free
    if revoking and has_any(course.reported, revoking):
        return member.moved(MemberState.UNREVOKED, epoch, assigned, revoking)
    for topic_id, indexes in added.items():
        assigned.setdefault(topic_id, {}).update(dict.fromkeys(indexes, course.epoch))
    return member.moved(_state(must_wait), course.epoch, _in_order(assigned), NOTHING)


def _state(must_wait: bool) -> MemberState:
    return MemberState.UNRELEASED if must_wait else MemberState.STABLE


def _in_order(owned: Owned) -> Owned:
    return {topic_id: dict(sorted(indexes.items())) for topic_id, indexes in owned.items()}
