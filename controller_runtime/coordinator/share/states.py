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
    change.records.append(begun(group, lacking, world))
    offsets = {topic_id: dict.fromkeys(sorted(each.partitions), _UNKNOWN_OFFSET) for topic_id, each in lacking.items()}
    return StatesWanted(group.group_id, epoch, offsets)


def begun(group: ShareGroup, asked: Mapping[Uuid, Shared], world: ShareWorld) -> records.ShareGroupRecord:
    """These are asked for; what was to go of them stays."""
    topics = group.topics
    initializing = joined(topics.initializing, asked)
    still = [topic_id for topic_id in topics.deleting if topic_id not in initializing]
    return records.states(
        group.group_id, replace(topics, initializing=initializing, deleting=named(still, world.image))
    )


def deleting(group: ShareGroup, gone: Collection[Uuid], world: ShareWorld) -> ShareChange:
    """The states of these topics are to go."""
    topics = group.topics
    rest = {each: shared for each, shared in topics.initialized.items() if each not in gone}
    names = named([*topics.deleting, *(each for each in gone if each not in topics.deleting)], world.image)
    record = records.states(group.group_id, SharedTopics(topics.initializing, rest, names))
    return ShareChange(group.group_id, [record])


def deleted(group: ShareGroup, gone: Collection[Uuid], world: ShareWorld) -> ShareChange:
    topics = group.topics
    names = named([each for each in topics.deleting if each not in gone], world.image)
    record = records.states(group.group_id, SharedTopics(topics.initializing, topics.initialized, names))
    return ShareChange(group.group_id, [record])


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


def kept(group: ShareGroup, image: MetadataImage) -> dict[Uuid, frozenset[int]]:
    """All of which there may be a state, of topics that are there or whose partitions are known."""
    topics = group.topics
    found = {each: shared.partitions for each, shared in joined(topics.initialized, topics.initializing).items()}
    for topic_id in topics.deleting:
        topic = image.topics.get(topic_id)
        if topic is not None:
            found[topic_id] = found.get(topic_id, frozenset()) | frozenset(range(topic.partition_count))
    return found


def all_deleting(group: ShareGroup, gone: Mapping[Uuid, frozenset[int]], world: ShareWorld) -> ShareChange:
    topics = joined(group.topics.initialized, group.topics.initializing)
    names = named(list(gone), world.image)
    deleting = {each: topics[each].name if each in topics else names[each] for each in gone}
    return ShareChange(group.group_id, [records.states(group.group_id, SharedTopics({}, {}, deleting))])


def forgotten(group: ShareGroup, gone: Collection[Uuid], world: ShareWorld) -> ShareChange:
    """These topics are deleted, and their states with them."""
    topics = group.topics
    change = ShareChange(group.group_id)
    if any(each in one for each in gone for one in (topics.initializing, topics.initialized, topics.deleting)):
        initializing = {each: shared for each, shared in topics.initializing.items() if each not in gone}
        rest = {each: shared for each, shared in topics.initialized.items() if each not in gone}
        deleting = named([each for each in topics.deleting if each not in gone], world.image)
        change.records.append(records.states(group.group_id, SharedTopics(initializing, rest, deleting)))
    return change


def _states(
    group: ShareGroup, initializing: Mapping[Uuid, Shared], initialized_now: Mapping[Uuid, Shared], world: ShareWorld
) -> records.ShareGroupRecord:
    deleting = named(list(group.topics.deleting), world.image)
    return records.states(group.group_id, SharedTopics(initializing, initialized_now, deleting))
