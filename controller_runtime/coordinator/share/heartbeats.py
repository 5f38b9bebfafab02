"""ShareGroupHeartbeat: a member joins, says what it reads, and is told which partitions it takes records of (KIP-932).

The checks, their order and their words are those of Apache Kafka's group coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller_runtime.coordinator.consumer.assignors.spec import Reader
from controller_runtime.coordinator.consumer.heartbeats import Sender, judge_text
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING, Target
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.targets import may_compute
from controller_runtime.coordinator.share import records, states
from controller_runtime.coordinator.share.assignor import assign
from controller_runtime.coordinator.share.group import ShareGroup
from controller_runtime.coordinator.share.members import ShareMember
from controller_runtime.coordinator.share.values import ShareChange, ShareWorld, StatesWanted
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.messages.share_group_heartbeat_response import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from controller_runtime.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Beaten:
    """What a heartbeat comes to."""

    change: ShareChange
    answer: ShareGroupHeartbeatResponse
    wanted: StatesWanted | None
    """When the change is committed."""


def judge_request(request: ShareGroupHeartbeatRequest) -> None:
    """What is wrong with it, whatever the group is. Raises Refused."""
    if not request.member_id:
        raise Refused(ErrorCode.INVALID_REQUEST)
    judge_text(request.member_id, "MemberId can't be empty.")
    judge_text(request.group_id, "GroupId can't be empty.")
    judge_text(request.rack_id, "RackId can't be empty.")
    if request.member_epoch == JOINING and not request.subscribed_topic_names:
        raise Refused(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING:
        raise Refused(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


def beat(group: ShareGroup, request: ShareGroupHeartbeatRequest, sender: Sender, world: ShareWorld) -> Beaten:
    """Of a member that joins or stays. Raises Refused."""
    group_id, member_id = group.group_id, request.member_id
    change, pace = ShareChange(group_id), world.pace(group_id)
    _judge_room(group, member_id, world.settings.max_size)
    member = _member(group, member_id, request.member_epoch)
    updated = _updated(member, request, sender)
    if updated != member:
        change.records.append(records.subscription(group_id, updated))
    is_due = updated.topics != member.topics
    if group.target_epoch >= group.epoch:
        is_due = is_due or states.awaits_assignment(group)
    members = {**group.members, member_id: updated}
    names = {name for each in members.values() for name in each.topics}
    epoch = group.epoch
    if is_due or group.is_stale:
        found = world.hashes.of_group(names, world.image)
        is_due = is_due or found != group.metadata_hash
        if is_due:
            epoch += 1
            change.records.append(records.epoch(group_id, epoch, found))
        change.has_seen_topics = True
    target_epoch, target = group.target_epoch, group.target_of(member_id)
    if group.target_epoch < epoch and may_compute(group.target_timestamp, pace.assignment_interval_ms, world.wall):
        targets = assign(_readers(group, members.values(), world), states.assignable(group))
        change.records += [
            records.target(group_id, each, targets[each])
            for each in members
            if each not in group.targets or targets[each] != group.targets[each]
        ]
        change.records.append(records.target_epoch(group_id, epoch, world.wall))
        target_epoch, target = epoch, targets[member_id]
    settled = _reconciled(updated, target_epoch, target, world, is_due=is_due)
    if settled != updated:
        change.records.append(records.current(group_id, settled))
    change.begin_session(member_id, pace.session_timeout_ms)
    is_shown = request.subscribed_topic_names is not None or settled.assigned != member.assigned
    answer = ShareGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=settled.epoch,
        heartbeat_interval_ms=pace.heartbeat_interval_ms,
        assignment=_shown(settled) if is_shown or request.member_epoch == JOINING else None,
    )
    return Beaten(change, answer, states.wanted(change, group, names, epoch, world))


def _judge_room(group: ShareGroup, member_id: str, max_size: int) -> None:
    if len(group.members) >= max_size and member_id not in group.members:
        words = f"The share group has reached its maximum capacity of {max_size} members."
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, words)


def _member(group: ShareGroup, member_id: str, epoch: int) -> ShareMember:
    """Who comes with the epoch before has perhaps not got the answer with the newer one. Epoch 0 begins anew."""
    if epoch == JOINING:
        return group.members.get(member_id) or ShareMember(member_id)
    member = known_member(group, member_id)
    must = "The member must abandon all its partitions and rejoin."
    words = f"member epoch ({epoch}) than the one known by the group coordinator ({member.epoch})"
    if epoch > member.epoch:
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"The share group member has a greater {words}. {must}")
    if epoch < member.epoch and epoch != member.previous_epoch:
        also = f", and it does not match the previous member epoch ({member.previous_epoch}). {must}"
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"The share group member has a smaller {words}{also}")
    return member


def known_member(group: ShareGroup, member_id: str) -> ShareMember:
    member = group.members.get(member_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def _updated(member: ShareMember, request: ShareGroupHeartbeatRequest, sender: Sender) -> ShareMember:
    """What is not said stays as it was."""
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topics=member.topics if names is None else frozenset(names),
        client_id=sender.client_id,
        client_host=sender.client_host,
    )


def _readers(group: ShareGroup, members: Iterable[ShareMember], world: ShareWorld) -> dict[str, Reader]:
    return {
        each.member_id: Reader(None, tuple(sorted(world.ids_of(each.topics))), group.target_of(each.member_id))
        for each in members
    }


def _reconciled(member: ShareMember, epoch: int, target: Target, world: ShareWorld, *, is_due: bool) -> ShareMember:
    """Its target at once, as far as it reads the topics."""
    if member.epoch == epoch and not is_due:
        return member
    subscribed = world.ids_of(member.topics)
    assigned = {topic_id: indexes for topic_id, indexes in target.items() if topic_id in subscribed}
    if member.epoch == epoch:
        return replace(member, assigned=assigned)
    return replace(member, epoch=epoch, previous_epoch=member.epoch, assigned=assigned)


def _shown(member: ShareMember) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(indexes)))
            for topic_id, indexes in member.assigned.items()
        )
    )


# Members that go.


def gone(group: ShareGroup, member: ShareMember, world: ShareWorld) -> ShareChange:
    """It is a member no more; the next heartbeat of another one shares anew."""
    change = ShareChange(group.group_id, list(records.member_gone(group.group_id, member.member_id)))
    rest = (each for each in group.members.values() if each.member_id != member.member_id)
    found = world.hashes.of_group({name for each in rest for name in each.topics}, world.image)
    change.records.append(records.epoch(group.group_id, group.epoch + 1, found))
    change.end_session(member.member_id)
    return change


def begun(group: ShareGroup, world: ShareWorld) -> ShareChange:
    """It is coordinated here from now on: every member has a whole session before it."""
    change, timeout_ms = ShareChange(group.group_id), world.pace(group.group_id).session_timeout_ms
    for member_id in group.members:
        change.begin_session(member_id, timeout_ms)
    return change


def stopped(group: ShareGroup) -> ShareChange:
    """Nothing happens to it here any more."""
    change = ShareChange(group.group_id)
    for member_id in group.members:
        change.end_session(member_id)
    return change
