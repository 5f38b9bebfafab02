"""The records of share groups in `__consumer_offsets`: types 10 to 15.

10 a member and its subscription         11 epoch of the group, with the hash of the metadata that it was made on
12 epoch of the target assignment        13 target assignment of a member
14 current assignment of a member        15 partitions that have a state, that are to have one, topics that lose theirs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.coordinator.record_kinds import RecordKinds
from controller_runtime.coordinator.share.members import STABLE, Shared, SharedTopics, ShareMember
from controller_runtime.coordinator.share.record_shapes import (
    CurrentKey,
    CurrentPartitions,
    CurrentValue,
    EpochKey,
    EpochValue,
    MemberKey,
    MemberValue,
    StatesKey,
    StatesValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetPartition,
    TargetValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass

Key = MemberKey | EpochKey | TargetEpochKey | TargetKey | CurrentKey | StatesKey
Value = MemberValue | EpochValue | TargetEpochValue | TargetValue | CurrentValue | StatesValue
_KINDS: Final = RecordKinds(
    {
        10: (MemberKey, MemberValue),
        11: (EpochKey, EpochValue),
        12: (TargetEpochKey, TargetEpochValue),
        13: (TargetKey, TargetValue),
        14: (CurrentKey, CurrentValue),
        15: (StatesKey, StatesValue),
    }
)


@dataclass(frozen=True, slots=True)
class ShareGroupRecord:
    key: Key
    value: Value | None
    """None: a tombstone."""

    @property
    def group_id(self) -> str:
        return self.key.group_id


def key_of(record: ShareGroupRecord) -> bytes:
    return _KINDS.key_of(record.key)


def value_of(record: ShareGroupRecord) -> bytes | None:
    return _KINDS.value_of(record.value)


def read(kind: int, key: bytes, value: bytes | None) -> ShareGroupRecord | None:
    """None: it is of another kind. Raises ProtocolError, struct.error, and ValueError for an unknown version."""
    found = _KINDS.read(kind, key, value)
    return None if found is None else ShareGroupRecord(*found)


# What is written.


def epoch(group_id: str, number: int, metadata_hash: int) -> ShareGroupRecord:
    return ShareGroupRecord(EpochKey(group_id=group_id), EpochValue(epoch=number, metadata_hash=metadata_hash))


def subscription(group_id: str, member: ShareMember) -> ShareGroupRecord:
    value = MemberValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.topics)),
    )
    return ShareGroupRecord(MemberKey(group_id=group_id, member_id=member.member_id), value)


def target(group_id: str, member_id: str, partitions: Target) -> ShareGroupRecord:
    topics = tuple(
        TargetPartition(topic_id=topic_id, partitions=tuple(sorted(indexes)))
        for topic_id, indexes in partitions.items()
    )
    return ShareGroupRecord(TargetKey(group_id=group_id, member_id=member_id), TargetValue(topic_partitions=topics))


def target_epoch(group_id: str, number: int, timestamp: int) -> ShareGroupRecord:
    value = TargetEpochValue(assignment_epoch=number, assignment_timestamp=timestamp)
    return ShareGroupRecord(TargetEpochKey(group_id=group_id), value)


def current(group_id: str, member: ShareMember) -> ShareGroupRecord:
    assigned = tuple(
        CurrentPartitions(topic_id=topic_id, partitions=tuple(sorted(indexes)))
        for topic_id, indexes in member.assigned.items()
    )
    value = CurrentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=STABLE,
        assigned_partitions=assigned,
    )
    return ShareGroupRecord(CurrentKey(group_id=group_id, member_id=member.member_id), value)


def states(group_id: str, topics: SharedTopics) -> ShareGroupRecord:
    value = StatesValue(
        initializing_topics=_written(topics.initializing),
        initialized_topics=_written(topics.initialized),
        deleting_topics=tuple(TopicInfo(topic_id=each, topic_name=name) for each, name in topics.deleting.items()),
    )
    return ShareGroupRecord(StatesKey(group_id=group_id), value)


def _written(topics: Mapping[Uuid, Shared]) -> tuple[TopicPartitionsInfo, ...]:
    return tuple(
        TopicPartitionsInfo(topic_id=topic_id, topic_name=each.name, partitions=tuple(sorted(each.partitions)))
        for topic_id, each in topics.items()
    )


def member_gone(group_id: str, member_id: str) -> list[ShareGroupRecord]:
    """In this order, as in Kafka: who reads them believes no other."""
    keys: tuple[type[CurrentKey | TargetKey | MemberKey], ...] = (CurrentKey, TargetKey, MemberKey)
    return [ShareGroupRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def group_gone(group_id: str) -> list[ShareGroupRecord]:
    """Of one that has no members."""
    keys: tuple[type[TargetEpochKey | StatesKey | EpochKey], ...] = (TargetEpochKey, StatesKey, EpochKey)
    return [ShareGroupRecord(key(group_id=group_id), None) for key in keys]


# What is read.


def shared_in(topics: tuple[TopicPartitionsInfo, ...]) -> dict[Uuid, Shared]:
    return {each.topic_id: Shared(each.topic_name, frozenset(each.partitions)) for each in topics}


def states_in(value: StatesValue) -> SharedTopics:
    return SharedTopics(
        shared_in(value.initializing_topics),
        shared_in(value.initialized_topics),
        {each.topic_id: each.topic_name for each in value.deleting_topics},
    )


def partitions_in(topics: tuple[CurrentPartitions, ...] | tuple[TargetPartition, ...]) -> Target:
    return {each.topic_id: frozenset(each.partitions) for each in topics}
