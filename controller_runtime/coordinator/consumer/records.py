"""The records of groups of the consumer protocol in `__consumer_offsets`: types 3 to 8, and 16.

3  epoch of the group, with the hash of the metadata that it was made on
4  metadata of the subscription: no longer written, only deleted
5  a member and its subscription         6  epoch of the target assignment
7  target assignment of a member         8  current assignment of a member
16 topics that a regular expression was resolved to
"""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.consumer.members import ClassicSide, ConsumerMember, MemberState, Owned, Target
from controller_runtime.coordinator.consumer.record_shapes import (
    ClassicMemberMetadata,
    ClassicProtocol,
    CurrentKey,
    CurrentPartitions,
    CurrentValue,
    EpochKey,
    EpochValue,
    MemberKey,
    MemberValue,
    OldMetadataKey,
    OldMetadataValue,
    PatternKey,
    PatternValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetPartition,
    TargetValue,
)
from controller_runtime.coordinator.record_kinds import RecordKinds
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass

Key = EpochKey | OldMetadataKey | MemberKey | TargetEpochKey | TargetKey | CurrentKey | PatternKey
Value = EpochValue | OldMetadataValue | MemberValue | TargetEpochValue | TargetValue | CurrentValue | PatternValue
_KINDS: Final = RecordKinds(
    {
        3: (EpochKey, EpochValue),
        4: (OldMetadataKey, OldMetadataValue),
        5: (MemberKey, MemberValue),
        6: (TargetEpochKey, TargetEpochValue),
        7: (TargetKey, TargetValue),
        8: (CurrentKey, CurrentValue),
        16: (PatternKey, PatternValue),
    }
)


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    key: Key
    value: Value | None
    """None: a tombstone."""

    @property
    def group_id(self) -> str:
        return self.key.group_id


def key_of(record: ConsumerRecord) -> bytes:
    return _KINDS.key_of(record.key)


def value_of(record: ConsumerRecord) -> bytes | None:
    return _KINDS.value_of(record.value)


def read(kind: int, key: bytes, value: bytes | None) -> ConsumerRecord | None:
    """None: it is of another kind. Raises ProtocolError, struct.error, and ValueError for an unknown version."""
    found = _KINDS.read(kind, key, value)
    return None if found is None else ConsumerRecord(*found)


# What is written.


def epoch(group_id: str, number: int, metadata_hash: int) -> ConsumerRecord:
    return ConsumerRecord(EpochKey(group_id=group_id), EpochValue(epoch=number, metadata_hash=metadata_hash))


def subscription(group_id: str, member: ConsumerMember) -> ConsumerRecord:
    classic = member.classic
    value = MemberValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.topics)),
        subscribed_topic_regex=member.pattern,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=None
        if classic is None
        else ClassicMemberMetadata(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=tuple(ClassicProtocol(name=name, metadata=data) for name, data in classic.protocols),
        ),
    )
    return ConsumerRecord(MemberKey(group_id=group_id, member_id=member.member_id), value)


def target(group_id: str, member_id: str, partitions: Target) -> ConsumerRecord:
    topics = tuple(
        TargetPartition(topic_id=topic_id, partitions=tuple(sorted(indexes)))
        for topic_id, indexes in partitions.items()
        if indexes
    )
    return ConsumerRecord(TargetKey(group_id=group_id, member_id=member_id), TargetValue(topic_partitions=topics))


def target_epoch(group_id: str, number: int, timestamp: int) -> ConsumerRecord:
    value = TargetEpochValue(assignment_epoch=number, assignment_timestamp=timestamp)
    return ConsumerRecord(TargetEpochKey(group_id=group_id), value)


def current(group_id: str, member: ConsumerMember) -> ConsumerRecord:
    value = CurrentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=int(member.state),
        assigned_partitions=_shown(member.assigned),
        partitions_pending_revocation=_shown(member.revoking),
    )
    return ConsumerRecord(CurrentKey(group_id=group_id, member_id=member.member_id), value)


def _shown(owned: Owned) -> tuple[CurrentPartitions, ...]:
    return tuple(
        CurrentPartitions(topic_id=topic_id, partitions=tuple(found), assignment_epochs=tuple(found.values()))
        for topic_id, found in owned.items()
    )


def resolved(group_id: str, pattern: str, topics: frozenset[str], version: int, timestamp: int) -> ConsumerRecord:
    value = PatternValue(topics=tuple(sorted(topics)), version=version, timestamp=timestamp)
    return ConsumerRecord(PatternKey(group_id=group_id, regular_expression=pattern), value)


def pattern_gone(group_id: str, pattern: str) -> ConsumerRecord:
    return ConsumerRecord(PatternKey(group_id=group_id, regular_expression=pattern), None)


def old_metadata_gone(group_id: str) -> ConsumerRecord:
    return ConsumerRecord(OldMetadataKey(group_id=group_id), None)


def member_gone(group_id: str, member_id: str) -> list[ConsumerRecord]:
    """In this order, as in Kafka: who reads them believes no other."""
    keys: tuple[type[CurrentKey | TargetKey | MemberKey], ...] = (CurrentKey, TargetKey, MemberKey)
    return [ConsumerRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def group_gone(group_id: str, member_ids: list[str], patterns: list[str]) -> list[ConsumerRecord]:
    def of_members(key: type[CurrentKey | TargetKey | MemberKey]) -> list[ConsumerRecord]:
        return [ConsumerRecord(key(group_id=group_id, member_id=each), None) for each in member_ids]

    return [
        *of_members(CurrentKey),
        *of_members(TargetKey),
        ConsumerRecord(TargetEpochKey(group_id=group_id), None),
        *of_members(MemberKey),
        *(pattern_gone(group_id, each) for each in patterns),
        old_metadata_gone(group_id),
        ConsumerRecord(EpochKey(group_id=group_id), None),
    ]


# What is read.


def with_subscription(member: ConsumerMember, value: MemberValue) -> ConsumerMember:
    classic = value.classic_member_metadata
    return ConsumerMember(
        member.member_id,
        member.epoch,
        member.previous_epoch,
        member.state,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topics=frozenset(value.subscribed_topic_names),
        pattern=value.subscribed_topic_regex,
        assignor=value.server_assignor,
        assigned=member.assigned,
        revoking=member.revoking,
        classic=None
        if classic is None
        else ClassicSide(
            classic.session_timeout_ms, tuple((each.name, each.metadata) for each in classic.supported_protocols)
        ),
    )


def owned_in(partitions: tuple[CurrentPartitions, ...], member_epoch: int) -> Owned:
    """Of records of before 4.3, which have no epochs of partitions, all have that of the member."""
    found: dict[Uuid, dict[int, int]] = {}
    for each in partitions:
        epochs = each.assignment_epochs
        if not epochs or len(epochs) != len(each.partitions):
            epochs = (max(member_epoch, 0),) * len(each.partitions)
        found[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return found


def state_in(number: int) -> MemberState:
    return MemberState(number) if number in set(MemberState) else MemberState.UNKNOWN


def target_in(value: TargetValue) -> Target:
    return {each.topic_id: frozenset(each.partitions) for each in value.topic_partitions}
