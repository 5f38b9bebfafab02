"""Which partitions of a share group's topics have a state at the share coordinator, are to have one, or had one.

A partition is assigned to members when its state is initialized. That is asked for when a heartbeat reads a topic
without one, answered beside it, and asked for again after `group.share.initialize.retry.interval.ms`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_runtime.coordinator.share import records
from controller_runtime.coordinator.share.group import ShareGroup
from controller_runtime.coordinator.share.members import Shared, SharedTopics, joined, without
from controller_runtime.coordinator.share.values import ShareChange, ShareWorld, StatesWanted
from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.values import replace

_UNKNOWN_OFFSET = -1
UNKNOWN_TOPIC = "<UNKNOWN>"


def assignable(group: ShareGroup) -> Mapping[Uuid, frozenset[int]]:
    return {topic_id: shared.partitions for topic_id, shared in group.topics.initialized.items()}


def awaits_assignment(group: ShareGroup) -> bool:
    """Partitions of a topic that is read are initialized, and are not all assigned, or are not these."""
    read = group.subscribed()
    assigned: dict[Uuid, set[int]] = {}
    for target in group.targets.values():
        for topic_id, indexes in target.items():
            assigned.setdefault(topic_id, set()).update(indexes)
    return any(
        shared.name in read and assigned.get(topic_id, set()) != set(shared.partitions)
        for topic_id, shared in group.topics.initialized.items()
    )


def wanted(
    change: ShareChange, group: ShareGroup, names: Collection[str], epoch: int, world: ShareWorld
) -> StatesWanted | None:
    """Those that these topics lack, if any: they are written down as such."""
    lacking = _lacking(group, names, world)
    if not lacking:
        return None
    topics = group.topics
    initializing = joined(topics.initializing, lacking)
    still = [topic_id for topic_id in topics.deleting if topic_id not in initializing]
    change.records.append(
        records.states(
            group.group_id,
            replace(topics, initializing=initializing, deleting=named(still, world.image)),
        )
    )
    offsets = {topic_id: dict.fromkeys(sorted(each.partitions), _UNKNOWN_OFFSET) for topic_id, each in lacking.items()}
    return StatesWanted(group.group_id, epoch, offsets)


def _lacking(group: ShareGroup, names: Collection[str], world: ShareWorld) -> dict[Uuid, Shared]:
    topics = group.topics
    is_asked = world.wall - group.topics_said_at < world.settings.initialize_retry_ms
    known = joined(topics.initialized, topics.initializing) if is_asked else topics.initialized
    found: dict[Uuid, Shared] = {}
    for name in sorted(names):
        topic = world.image.topics.named(name)
        if topic is None:
            continue
        has = known[topic.id].partitions if topic.id in known else frozenset[int]()
        if len(has) < topic.partition_count:
            found[topic.id] = Shared(name, frozenset(range(topic.partition_count)) - has)
    return found


def named(topic_ids: Collection[Uuid], image: MetadataImage) -> dict[Uuid, str]:
    found = {topic_id: image.topics.get(topic_id) for topic_id in topic_ids}
    return {topic_id: UNKNOWN_TOPIC if topic is None else topic.name for topic_id, topic in found.items()}


def initialized(group: ShareGroup, done: Mapping[Uuid, frozenset[int]], world: ShareWorld) -> ShareChange:
    """The share coordinator keeps states of these now."""
    topics = group.topics
    names = named(list(done), world.image)
    kept = {each: Shared(names[each], indexes) for each, indexes in done.items() if names[each] != UNKNOWN_TOPIC}
    initialized_now = joined(topics.initialized, kept)
    change = ShareChange(group.group_id)
    change.records.append(_states(group, without(topics.initializing, done), initialized_now, world))
    return change


def refused(group: ShareGroup, asked: Mapping[Uuid, frozenset[int]], world: ShareWorld) -> ShareChange:
    """The share coordinator does not: the next heartbeat asks again."""
    change, topics = ShareChange(group.group_id), group.topics
    if topics.initializing:
        change.records.append(_states(group, without(topics.initializing, asked), topics.initialized, world))
    return change


def _states(
    group: ShareGroup, initializing: Mapping[Uuid, Shared], initialized_now: Mapping[Uuid, Shared], world: ShareWorld
) -> records.ShareGroupRecord:
    deleting = named(list(group.topics.deleting), world.image)
    return records.states(group.group_id, SharedTopics(initializing, initialized_now, deleting))
