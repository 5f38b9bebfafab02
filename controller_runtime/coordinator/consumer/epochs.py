"""Who of a group of the consumer protocol speaks, and whether its epoch says that it knows what it should."""

from __future__ import annotations

from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING_FOR_NOW, ConsumerMember, has_only
from controller_runtime.coordinator.consumer.reconciliation import Reported
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import replace


def known_member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    member = group.members.get(member_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def known_static(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    member = group.static_member(instance_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member


def judge_epoch(member: ConsumerMember, epoch: int, reported: Reported | None) -> None:
    """Who comes with the epoch before has perhaps not got the answer with the newer one: if all that it has is
    assigned to it, it goes on. Epoch 0 begins anew.
    """
    if epoch == JOINING:
        return
    if epoch > member.epoch:
        which = "greater"
    elif epoch < member.epoch and not (epoch == member.previous_epoch and has_only(reported, member.assigned)):
        which = "smaller"
    else:
        return
    words = (
        f"The consumer group member has a {which} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )
    raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, words)


def judge_room(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    if len(group.members) >= max_size and member_id not in group.members:
        words = f"The consumer group has reached its maximum capacity of {max_size} members."
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, words)


def returning(
    group: ConsumerGroup, before: ConsumerMember, member_id: str, *, is_classic: bool
) -> tuple[ConsumerMember, list[ConsumerRecord]]:
    """A static member is back under another id, in the place of `before`, who must have left."""
    if not is_classic and before.classic is None and before.epoch != LEAVING_FOR_NOW:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {before.instance_id} cannot join the group because the "
            f"instance id is owned by {before.member_id} member.",
        )
    member = replace(before, member_id=member_id, epoch=0, previous_epoch=0)
    target = group.targets.get(before.member_id, {})
    out = [
        *records.member_gone(group.group_id, before.member_id),
        records.subscription(group.group_id, member),
        records.target(group.group_id, member_id, target),
        records.current(group.group_id, member),
    ]
    return member, out
