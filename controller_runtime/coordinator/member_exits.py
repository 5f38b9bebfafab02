"""Members leave a group of the consumer protocol: what is written, and what becomes of the group."""

from __future__ import annotations

from collections.abc import Collection

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.consumer import departures, records
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import ConsumerMember
from controller_runtime.coordinator.consumer.values import Change, World
from controller_runtime.coordinator.migration import downgraded, may_downgrade
from controller_runtime.identifiers import WallClock


def gone(
    group: ConsumerGroup, members: Collection[ConsumerMember], world: World, empty: ClassicGroup, wall: WallClock
) -> tuple[Change, ClassicGroup | None]:
    """What is written; and the group of the classic protocol that it becomes (`empty`, filled), if only such members
    are left.
    """
    if not may_downgrade(group, members, world, empty.settings.max_size):
        return departures.without(group, members, world), None
    ids = {each.member_id for each in members}
    rest = [each for each in group.members.values() if each.member_id not in ids]
    tombstones = records.group_gone(group.group_id, list(group.members), list(group.resolved))
    return Change(group.group_id, tombstones), downgraded(empty, group, rest, world, wall)
