"""Members of the classic protocol in a group of the consumer protocol (KIP-848): they join, sync, beat and leave as
ever, and the coordinator assigns.

Their generation is the epoch of the member. A join is answered at once; a heartbeat says REBALANCE_IN_PROGRESS when
the member is to join again, which it must do within its rebalance timeout, as it must sync after that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import CONSUMER, Joining
from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.epochs import judge_room, known_member, known_static, returning
from controller_runtime.coordinator.consumer.group import ConsumerGroup, waits_for_others
from controller_runtime.coordinator.consumer.heartbeats import Said, advance, current_goal, reconcile
from controller_runtime.coordinator.consumer.members import (
    ClassicSide,
    ConsumerMember,
    MemberState,
    without_epochs,
)
from controller_runtime.coordinator.consumer.protocol_metadata import Malformed, assignment_bytes, subscription_in
from controller_runtime.coordinator.consumer.reconciliation import Reported
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.settings import MigrationPolicy
from controller_runtime.coordinator.consumer.subscribing import (
    PatternChange,
    note_epoch,
    note_pattern,
    note_subscription,
)
from controller_runtime.coordinator.consumer.targets import members_with
from controller_runtime.coordinator.consumer.values import JOIN, SESSION, SYNC, Change, World
from controller_runtime.coordinator.migration import downgraded, may_downgrade_for
from controller_runtime.coordinator.offsets_records import GroupLogRecord, GroupRecord
from controller_runtime.identifiers import WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.join_group_response import JoinGroupResponse
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from controller_runtime.protocol.messages.sync_group_response import SyncGroupResponse
from controller_runtime.values import dataclass, replace

_FIRST_JOIN_WITH_KNOWN_ID = 4


@dataclass(frozen=True, slots=True)
class Joined:
    """What a join comes to. `becomes`: the group of the classic protocol that it is from now on."""

    change: Change
    answer: JoinGroupResponse
    becomes: ClassicGroup | None = None
    rebalances: bool = False
    """The group that it becomes is to begin anew: what its members have is of an older epoch."""

    @property
    def records(self) -> list[GroupLogRecord]:
        out: list[GroupLogRecord] = [*self.change.records]
        if self.becomes is not None:
            out.append(GroupRecord(self.becomes.group_id, self.becomes.written(self.becomes.assignments())))
        return out


def join(group: ConsumerGroup, joining: Joining, world: World, empty: ClassicGroup, wall: WallClock) -> Joined | str:
    """Or the id that it is to join with. `empty`: what the group becomes if it must. Raises Refused."""
    if world.settings.migration is MigrationPolicy.DISABLED:
        words = (
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled."
        )
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, words)
    member_id = joining.member_id or joining.new_member_id
    judge_room(group, member_id, world.settings.max_size)
    if not _supports(group, joining):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported.")
    is_dynamic = joining.instance_id is None
    if not joining.member_id and is_dynamic and joining.asked.version >= _FIRST_JOIN_WITH_KNOWN_ID:
        return member_id
    subscription = _subscription(joining)
    change = Change(group.group_id)
    member = _member(change, group, joining, member_id)
    replaced = group.static_member(joining.instance_id)
    updated = _updated(member, joining, subscription)
    is_renamed = note_subscription(change, member, updated)
    is_new = is_renamed or note_pattern(change, group, member, updated) is not PatternChange.NONE
    said = Said(_owned(subscription, world), is_new)
    if may_downgrade_for(group, replaced, world, empty.settings.max_size):
        assert replaced is not None, "a static member is replaced"
        return _downgrade(change, group, (replaced, updated), said, (world, empty, wall))
    updated = advance(change, group, updated, said, world, is_due=is_new)
    change.stop_clocks(updated.member_id, JOIN)
    change.set_clock(SESSION, updated.member_id, joining.session_timeout_ms)
    change.set_clock(SYNC, updated.member_id, joining.rebalance_timeout_ms)
    return Joined(change, _joined(updated))


def _downgrade(
    change: Change,
    group: ConsumerGroup,
    exchanged: tuple[ConsumerMember, ConsumerMember],
    said: Said,
    made_in: tuple[World, ClassicGroup, WallClock],
) -> Joined:
    """The last member of the consumer protocol is back as one of the classic protocol."""
    (replaced, updated), (world, empty, wall) = exchanged, made_in
    epoch = group.epoch
    if said.has_new_subscription or group.is_stale:
        members = members_with(group, updated)
        epoch = note_epoch(change, group, members, world, is_due=said.has_new_subscription)
    is_old = group.target_epoch < epoch
    if not is_old:
        updated = reconcile(change, group, updated, current_goal(group, updated), said=said, world=world)
    ids = [updated.member_id if each == replaced.member_id else each for each in group.members]
    change.records += records.group_gone(group.group_id, ids, list(group.resolved))
    change.clocks.clear()
    rest = [each for each in group.members.values() if each.member_id != replaced.member_id]
    becomes = downgraded(empty, group, [*rest, updated], world, wall)
    return Joined(change, _joined(updated), becomes, rebalances=is_old)


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    assert member.classic is not None, "it has joined by the classic protocol"
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=member.classic.protocols[0][0],
    )


def _supports(group: ConsumerGroup, joining: Joining) -> bool:
    """One of its protocols is had by all members that have any."""
    counts = Counter(
        name for each in group.members.values() if each.classic is not None for name, _ in each.classic.protocols
    )
    names = [name for name, _ in joining.protocols]
    return joining.protocol_type == CONSUMER and any(counts[name] == group.classic_count for name in names)


def _subscription(joining: Joining) -> ConsumerProtocolSubscription:
    try:
        return subscription_in(joining.protocols[0][1])
    except Malformed as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR) from error


def _owned(subscription: ConsumerProtocolSubscription, world: World) -> Reported:
    topics = ((world.image.topics.named(each.topic), each.partitions) for each in subscription.owned_partitions)
    return [(topic.id, indexes) for topic, indexes in topics if topic is not None]


def _member(change: Change, group: ConsumerGroup, joining: Joining, member_id: str) -> ConsumerMember:
    if joining.instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if joining.member_id:
        return known_static(group, member_id, joining.instance_id)
    before = group.static_member(joining.instance_id)
    if before is None:
        return ConsumerMember(member_id)
    member, written = returning(group, before, member_id, is_classic=True)
    change.records += written
    return member


def _updated(member: ConsumerMember, joining: Joining, subscription: ConsumerProtocolSubscription) -> ConsumerMember:
    timeout = joining.rebalance_timeout_ms
    return replace(
        member,
        instance_id=joining.instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        topics=frozenset(subscription.topics),
        pattern="",
        client_id=joining.client_id,
        client_host=joining.client_host,
        classic=ClassicSide(joining.session_timeout_ms, joining.protocols),
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicSide]:
    if instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static(group, member_id, instance_id)
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
    if generation != member.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic


def sync(group: ConsumerGroup, request: SyncGroupRequest, world: World) -> tuple[Change, SyncGroupResponse]:
    """Raises Refused."""
    member, classic = _classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    name, metadata = classic.protocols[0]
    said = ((request.protocol_type, CONSUMER), (request.protocol_name, name))
    if any(each is not None and each != known for each, known in said):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    change = Change(group.group_id)
    if group.target_epoch > member.epoch and member.state is not MemberState.UNREVOKED:
        change.set_clock(JOIN, member.member_id, member.rebalance_timeout_ms, unless_set=True)
        return change, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    change.stop_clocks(member.member_id, SYNC)
    change.set_clock(SESSION, member.member_id, classic.session_timeout_ms)
    data = assignment_bytes(without_epochs(member.assigned), world.image, metadata)
    answer = SyncGroupResponse(
        protocol_type=request.protocol_type, protocol_name=request.protocol_name, assignment=data
    )
    return change, answer


def beat(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> tuple[Change, ErrorCode]:
    """Raises Refused."""
    member, classic = _classic_member(group, member_id, instance_id, generation)
    change = Change(group.group_id)
    change.set_clock(SESSION, member.member_id, classic.session_timeout_ms)
    is_free = member.state is MemberState.UNRELEASED and not waits_for_others(group, member)
    if member.epoch < group.target_epoch or member.state is MemberState.UNREVOKED or is_free:
        change.set_clock(JOIN, member.member_id, member.rebalance_timeout_ms, unless_set=True)
        return change, ErrorCode.REBALANCE_IN_PROGRESS
    return change, ErrorCode.NONE


def leavers(
    group: ConsumerGroup, leaving: Sequence[tuple[str, str | None]]
) -> tuple[list[ErrorCode], Collection[ConsumerMember]]:
    """What each of those named is told, and who goes; an administrator names an instance alone."""
    codes: list[ErrorCode] = []
    gone: dict[str, ConsumerMember] = {}
    for member_id, instance_id in leaving:
        try:
            if instance_id is None:
                member = known_member(group, member_id)
            else:
                static = group.static_member(instance_id)
                named = member_id or ("" if static is None else static.member_id)
                member = known_static(group, named, instance_id)
        except Refused as refused:
            codes.append(refused.code)
        else:
            gone[member.member_id] = member
            codes.append(ErrorCode.NONE)
    return codes, gone.values()
