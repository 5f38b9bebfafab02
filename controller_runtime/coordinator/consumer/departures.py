"""Members of a group of the consumer protocol that go: by themselves, for a while, or because they are too late."""

from __future__ import annotations

from collections.abc import Collection

from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.epochs import known_member, known_static
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import LEAVING_FOR_NOW, NOTHING, ConsumerMember, MemberState
from controller_runtime.coordinator.consumer.subscribing import names_read
from controller_runtime.coordinator.consumer.values import REBALANCE, SESSION, Change, World
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.values import replace


def leaver(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
    """Who leaves. Raises Refused."""
    if request.instance_id is None:
        return known_member(group, request.member_id)
    return known_static(group, request.member_id, request.instance_id)


def left_for_now(group: ConsumerGroup, member: ConsumerMember) -> Change:
    """It keeps what it has until its session ends; whoever comes back in its place gets that."""
    kept = {topic_id: dict.fromkeys(indexes, 0) for topic_id, indexes in member.assigned.items()}
    gone = replace(member, epoch=LEAVING_FOR_NOW, assigned=kept, revoking=NOTHING)
    return Change(group.group_id, [records.current(group.group_id, gone)])


def without(group: ConsumerGroup, members: Collection[ConsumerMember], world: World) -> Change:
    """They are members no more; the others are to share what they had."""
    change = Change(group.group_id)
    gone = {each.member_id for each in members}
    rest = [each for member_id, each in group.members.items() if member_id not in gone]
    for member in members:
        change.records += records.member_gone(group.group_id, member.member_id)
        change.stop_clocks(member.member_id)
    still_read = {each.pattern for each in rest if each.pattern}
    for pattern in dict.fromkeys(each.pattern for each in members if each.pattern):
        if pattern not in still_read:
            change.records.append(records.pattern_gone(group.group_id, pattern))
    found = world.hashes.of_group(names_read(group, rest), world.image)
    change.records.append(records.epoch(group.group_id, group.epoch + 1, found))
    return change


def is_late(group: ConsumerGroup, member_id: str, kind: str) -> ConsumerMember | None:
    """Whose timer has run out; None: it does not matter any more."""
    member = group.members.get(member_id)
    if member is None or (kind == REBALANCE and member.state is not MemberState.UNREVOKED):
        return None
    return member


def begun(group: ConsumerGroup, world: World) -> Change:
    """It is coordinated here from now on: every member has a whole session before it."""
    change = Change(group.group_id)
    timeout_ms = world.pace(group.group_id).session_timeout_ms
    for member in group.members.values():
        change.set_clock(SESSION, member.member_id, timeout_ms)
        if member.state is MemberState.UNREVOKED:
            change.set_clock(REBALANCE, member.member_id, member.rebalance_timeout_ms)
    return change


def stopped(group: ConsumerGroup) -> Change:
    """Nothing happens to it here any more."""
    change = Change(group.group_id)
    for member_id in group.members:
        change.stop_clocks(member_id)
    return change
