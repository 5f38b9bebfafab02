"""Groups that change their protocol while their members live (KIP-848, "Migration").

A group of consumers of the classic protocol becomes one of the consumer protocol when the first member of that
protocol joins; its members go on as they are, with what they have. It becomes one of the classic protocol again when
the last member of the consumer protocol is gone. `group.consumer.migration.policy` says which of both may happen.
"""

from __future__ import annotations

from collections.abc import Collection

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import CONSUMER, Member
from controller_runtime.coordinator.classic_values import State
from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import (
    ClassicSide,
    ConsumerMember,
    Target,
    owned_at,
    without_epochs,
)
from controller_runtime.coordinator.consumer.protocol_metadata import (
    Malformed,
    assignment_bytes,
    assignment_in,
    subscription_in,
)
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.values import SESSION, Change, World
from controller_runtime.identifiers import WallClock
from controller_runtime.protocol.errors import ErrorCode


def upgraded(group: ClassicGroup, world: World) -> tuple[ConsumerGroup, Change]:
    """The group as it is in the other protocol, and its records. Raises Refused."""
    why = _why_not(group, world)
    if why:
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.",
        )
    change = Change(group.group_id)
    try:
        members = [_modern(group, each, world) for each in group.members.by_id.values()]
    except Malformed as error:
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {group.group_id} to consumer group because {error}.",
        ) from error
    found = world.hashes.of_group({name for each in members for name in each.topics}, world.image)
    group_id, generation = group.group_id, group.generation
    change.records += (records.subscription(group_id, each) for each in members)
    change.records.append(records.epoch(group_id, generation, found))
    change.records += (records.target(group_id, each.member_id, without_epochs(each.assigned)) for each in members)
    change.records.append(records.target_epoch(group_id, generation, 0))
    change.records += (records.current(group_id, each) for each in members)
    for each in members:
        assert each.classic is not None, "it comes from the classic protocol"
        change.set_clock(SESSION, each.member_id, each.classic.session_timeout_ms)
    made = ConsumerGroup(group_id)
    for record in change.records:
        made.replay(record)
    return made, change


def _why_not(group: ClassicGroup, world: World) -> str:
    if not world.settings.migration.may_upgrade:
        return "online upgrade is disabled"
    if group.protocol_type != CONSUMER:
        return "the group does not use the consumer embedded protocol"
    if len(group.members.by_id) > world.settings.max_size:
        return "the group size exceeds the consumer group maximum size"
    return ""


def _modern(group: ClassicGroup, member: Member, world: World) -> ConsumerMember:
    subscription = subscription_in(member.metadata(group.protocol or group.members.elect_protocol()))
    target: Target = assignment_in(member.assignment, world.image) if member.assignment else {}
    return ConsumerMember(
        member.member_id,
        group.generation,
        group.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        assigned=owned_at(target, group.generation),
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )


def may_downgrade(group: ConsumerGroup, gone: Collection[ConsumerMember], world: World, max_size: int) -> bool:
    """All that are left without these are members of the classic protocol, and somebody is left."""
    left = len(group.members) - len(gone)
    classic_left = group.classic_count - sum(each.classic is not None for each in gone)
    return 0 < left == classic_left and left <= max_size and world.settings.migration.may_downgrade


def may_downgrade_for(group: ConsumerGroup, replaced: ConsumerMember | None, world: World, max_size: int) -> bool:
    """A static member of the consumer protocol, the last one, is back as one of the classic protocol."""
    if replaced is None or replaced.classic is not None or group.classic_count != len(group.members) - 1:
        return False
    return world.settings.migration.may_downgrade and len(group.members) <= max_size


def downgraded(
    made: ClassicGroup, group: ConsumerGroup, members: Collection[ConsumerMember], world: World, wall: WallClock
) -> ClassicGroup:
    """`made`, an empty group, with these members, and what each of them is to have."""
    for each in members:
        assert each.classic is not None, "only members of the classic protocol are left"
        made.members.add(
            Member(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                session_timeout_ms=each.classic.session_timeout_ms,
                rebalance_timeout_ms=each.rebalance_timeout_ms,
                protocols=each.classic.protocols,
            )
        )
    made.generation, made.protocol_type = group.epoch, CONSUMER
    made.protocol = made.members.elect_protocol()
    made.enter(State.STABLE, wall)
    made.note_subscriptions()
    for member in made.members.by_id.values():
        target = group.target_of(member.member_id, member.instance_id)
        member.assignment = assignment_bytes(target, world.image, member.metadata(made.protocol))
    return made
