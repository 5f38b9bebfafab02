"""The next target assignment of a group, and when there is one: when its epoch is newer than that of the target, but
not more often than `group.consumer.assignment.interval.ms` says (KIP-1263).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.assignors import ranges, uniform
from controller_runtime.coordinator.consumer.assignors.spec import Reader, Spec
from controller_runtime.coordinator.consumer.group import NO_TARGET, ConsumerGroup
from controller_runtime.coordinator.consumer.members import ConsumerMember, Target
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.consumer.values import Change, World
from controller_runtime.identifiers import Uuid, WallClock

MOST_AT_ONCE: Final = 4_000
"""Members and partitions: some milliseconds of work. The target of a larger group is computed off the request."""
_ASSIGN = {"uniform": uniform.assign, "range": ranges.assign}


def members_with(group: ConsumerGroup, member: ConsumerMember) -> dict[str, ConsumerMember]:
    """All of them, as they are with this one; who it replaces is not among them."""
    found = dict(group.members)
    before = group.static_member(member.instance_id)
    if before is not None and before.member_id != member.member_id:
        del found[before.member_id]
    found[member.member_id] = member
    return found


def is_due(group: ConsumerGroup, epoch: int, world: World) -> bool:
    if group.target_epoch >= epoch:
        return False
    return may_compute(group.target_timestamp, world.pace(group.group_id).assignment_interval_ms, world.wall)


def may_compute(before: int, interval_ms: int, wall: WallClock) -> bool:
    """`before`: when that was done last, 0 if nobody knows."""
    return not before or not interval_ms or wall >= before + interval_ms


def preferred_assignor(members: Iterable[ConsumerMember], default: str) -> str:
    """What most members want that want any."""
    wanted = Counter(each.assignor for each in members if each.assignor is not None)
    return max(sorted(wanted, reverse=True), key=lambda name: wanted[name], default=default)


def assignor_of(members: Iterable[ConsumerMember], world: World) -> str:
    return preferred_assignor(members, world.settings.assignors[0])


def spec_of(group: ConsumerGroup, members: Mapping[str, ConsumerMember], world: World) -> Spec:
    """What the members read, by the ids of topics that are there."""
    ids: dict[frozenset[str], tuple[Uuid, ...]] = {}
    readers: dict[str, Reader] = {}
    for member_id, member in members.items():
        names = group.topics_of(member)
        topics = ids.get(names)
        if topics is None:
            topics = ids[names] = tuple(sorted(world.ids_of(names)))
        before = group.target_of(member_id, member.instance_id)
        readers[member_id] = Reader(member.instance_id, topics, before)
    counts: dict[Uuid, int] = {}
    for topics in ids.values():
        for topic_id in topics:
            topic = world.image.topics.get(topic_id)
            counts[topic_id] = 0 if topic is None else topic.partition_count
    return Spec(readers, dict(sorted(counts.items())), len(set(ids.values())) <= 1)


def assigned(spec: Spec, assignor: str) -> dict[str, Target]:
    found: dict[str, Target] = {}
    for each in _ASSIGN[assignor](spec):
        found = each or found
    return found


def in_pieces(group: ConsumerGroup, world: World, act: Callable[[Change], object]) -> Iterator[None]:
    """The target of a large group, beside other work. What has changed meanwhile makes it void: the next heartbeat
    begins anew.
    """
    epoch, members = group.epoch, dict(group.members)
    found: dict[str, Target] = {}
    for each in _ASSIGN[assignor_of(members.values(), world)](spec_of(group, members, world)):
        found = each or found
        yield None
    group.is_assigning = False
    if group.epoch == epoch and group.members.keys() == members.keys():
        act(Change(group.group_id, list(written(group, members, found, epoch, world))))


def written(
    group: ConsumerGroup, members: Mapping[str, ConsumerMember], found: Mapping[str, Target], epoch: int, world: World
) -> list[ConsumerRecord]:
    """Only what changes for a member is written for it."""
    out = [
        records.target(group.group_id, member_id, found.get(member_id, NO_TARGET))
        for member_id in members
        if member_id not in group.targets or found.get(member_id, NO_TARGET) != group.targets[member_id]
    ]
    return [*out, records.target_epoch(group.group_id, epoch, world.wall)]
