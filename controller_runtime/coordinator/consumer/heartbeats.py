"""ConsumerGroupHeartbeat: a member joins, says what it wants and has, and is told what it is to have (KIP-848).

The checks, their order and their words are those of Apache Kafka's group coordinator.
"""

from __future__ import annotations

from controller_runtime.coordinator.consumer import records, targets
from controller_runtime.coordinator.consumer.epochs import (
    judge_epoch,
    judge_room,
    known_member,
    known_static,
    returning,
)
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import (
    JOINING,
    LEAVING,
    LEAVING_FOR_NOW,
    ConsumerMember,
    MemberState,
    Target,
)
from controller_runtime.coordinator.consumer.reconciliation import Course, Reported, reconciled
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.subscribing import (
    PatternChange,
    note_epoch,
    note_pattern,
    note_subscription,
    patterns_to_resolve,
)
from controller_runtime.coordinator.consumer.values import REBALANCE, SESSION, Change, World
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from controller_runtime.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a request, and the id that it gets if it has none."""

    client_id: str
    client_host: str
    new_member_id: str


@dataclass(frozen=True, slots=True)
class Beaten:
    """What a heartbeat comes to."""

    change: Change
    answer: ConsumerGroupHeartbeatResponse
    to_resolve: frozenset[str]
    """Regular expressions whose topics are wanted."""


def judge_request(request: ConsumerGroupHeartbeatRequest, version: int, assignors: tuple[str, ...]) -> None:
    """What is wrong with it, whatever the group is. Raises Refused."""
    epoch = request.member_epoch
    if version >= 1 or epoch > 0 or epoch == LEAVING:
        judge_text(request.member_id, "MemberId can't be empty.")
    judge_text(request.group_id, "GroupId can't be empty.")
    judge_text(request.instance_id, "InstanceId can't be empty.")
    judge_text(request.rack_id, "RackId can't be empty.")
    if epoch == JOINING:
        if request.rebalance_timeout_ms == -1:
            _refuse("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            _refuse("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            _refuse("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif epoch == LEAVING_FOR_NOW:
        if request.instance_id is None:
            _refuse("InstanceId can't be null.")
    elif epoch < LEAVING_FOR_NOW:
        _refuse("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        words = (
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, words)


def judge_text(text: str | None, words: str) -> None:
    if text is not None and not text.strip(_JAVA_SPACE):
        _refuse(words)


_JAVA_SPACE = "".join(map(chr, range(33)))
"""What String.trim takes away."""


def _refuse(words: str) -> None:
    raise Refused(ErrorCode.INVALID_REQUEST, words)


def beat(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    sender: Sender,
    world: World,
    begun: Change | None = None,
) -> Beaten:
    """Of a member that joins or stays. `begun`: what is to be written before. Raises Refused."""
    change = begun or Change(group.group_id)
    pace = world.pace(group.group_id)
    judge_room(group, request.member_id, world.settings.max_size)
    reported = _reported(request)
    member = _member(change, group, request, reported, sender)
    updated = _updated(member, request, sender)
    is_renamed = note_subscription(change, member, updated)
    pattern = note_pattern(change, group, member, updated)
    to_resolve = patterns_to_resolve(group, member, updated, world)
    updated = advance(
        change,
        group,
        updated,
        Said(reported, is_renamed or pattern is not PatternChange.NONE),
        world,
        is_due=is_renamed or pattern is PatternChange.RESOLVED,
    )
    change.set_clock(SESSION, updated.member_id, pace.session_timeout_ms)
    is_full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    is_shown = request.member_epoch == JOINING or is_full or updated.assigned != member.assigned
    answer = ConsumerGroupHeartbeatResponse(
        member_id=updated.member_id,
        member_epoch=updated.epoch,
        heartbeat_interval_ms=pace.heartbeat_interval_ms,
        assignment=_shown(updated) if is_shown else None,
    )
    return Beaten(change, answer, to_resolve)


@dataclass(frozen=True, slots=True)
class Said:
    """What a member says of itself."""

    reported: Reported | None
    has_new_subscription: bool


@dataclass(frozen=True, slots=True)
class Goal:
    """A target assignment, and its epoch."""

    epoch: int
    target: Target


def current_goal(group: ConsumerGroup, member: ConsumerMember) -> Goal:
    return Goal(group.target_epoch, group.target_of(member.member_id, member.instance_id))


def advance(
    change: Change, group: ConsumerGroup, updated: ConsumerMember, said: Said, world: World, *, is_due: bool
) -> ConsumerMember:
    """The group's epoch and target with the member as it is now, and the member on its way to the target."""
    epoch = group.epoch
    if is_due or group.is_stale:
        epoch = note_epoch(change, group, targets.members_with(group, updated), world, is_due=is_due)
    goal = current_goal(group, updated)
    if targets.is_due(group, epoch, world) and not group.is_assigning:
        members = targets.members_with(group, updated)
        spec = targets.spec_of(group, members, world)
        if spec.size > targets.MOST_AT_ONCE:
            change.wants_target = True
        else:
            found = targets.assigned(spec, targets.assignor_of(members.values(), world))
            change.records += targets.written(group, members, found, epoch, world)
            goal = Goal(epoch, found.get(updated.member_id, {}))
    return reconcile(change, group, updated, goal, said=said, world=world)


def reconcile(
    change: Change,
    group: ConsumerGroup,
    member: ConsumerMember,
    goal: Goal,
    *,
    said: Said,
    world: World,
) -> ConsumerMember:
    if not said.has_new_subscription and member.is_reconciled_to(goal.epoch):
        return member
    course = Course(
        goal.epoch,
        goal.target,
        said.reported,
        subscribed=world.ids_of(group.topics_of(member)),
        has_new_subscription=said.has_new_subscription,
        is_held=group.is_held,
    )
    found = reconciled(member, course)
    if found == member:
        return member
    change.records.append(records.current(group.group_id, found))
    if found.classic is None:
        if found.state is MemberState.UNREVOKED:
            change.set_clock(REBALANCE, found.member_id, found.rebalance_timeout_ms)
        else:
            change.stop_clocks(found.member_id, REBALANCE)
    return found


def _reported(request: ConsumerGroupHeartbeatRequest) -> Reported | None:
    found = request.topic_partitions
    return None if found is None else [(each.topic_id, each.partitions) for each in found]


def _member(
    change: Change,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    reported: Reported | None,
    sender: Sender,
) -> ConsumerMember:
    """Who it is: known, new, or back in the place of another."""
    member_id, instance_id = request.member_id or sender.new_member_id, request.instance_id
    joins = request.member_epoch == JOINING
    if instance_id is None:
        member = group.members.get(member_id) or ConsumerMember(member_id) if joins else known_member(group, member_id)
        judge_epoch(member, request.member_epoch, reported)
        return member
    if not joins:
        member = known_static(group, member_id, instance_id)
        judge_epoch(member, request.member_epoch, reported)
        return member
    before = group.static_member(instance_id)
    if before is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    member, written = returning(group, before, member_id, is_classic=False)
    change.records += written
    return member


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, sender: Sender) -> ConsumerMember:
    """What is not said stays as it was."""
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
        topics=member.topics if names is None else frozenset(names),
        pattern=member.pattern if pattern is None else pattern,
        client_id=sender.client_id,
        client_host=sender.client_host,
        classic=None,
    )


def _shown(member: ConsumerMember) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(indexes))
            for topic_id, indexes in member.assigned.items()
        )
    )
