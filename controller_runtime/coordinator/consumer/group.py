"""A group of the consumer protocol as its records say it is. Only `replay` changes it.

A record is applied when the log has taken it. What is derived (who holds a partition, who reads by which regular
expression, how many members are static) follows from the members. Records of a log that was compacted come in any
order, and earlier ones may be missing: each is applied for itself (KAFKA-19862).
"""

from __future__ import annotations

from collections import Counter
from typing import Final, assert_never

from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.members import LEAVING, NOTHING, ConsumerMember, MemberState, Owned, Target
from controller_runtime.coordinator.consumer.record_shapes import (
    CurrentKey,
    CurrentValue,
    EpochKey,
    EpochValue,
    MemberKey,
    MemberValue,
    OldMetadataKey,
    PatternKey,
    PatternValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetValue,
)
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass, replace

NO_TARGET: Final[Target] = {}
EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = "Empty", "Assigning", "Reconciling", "Stable", "Dead"
_FIRST_EPOCH: Final = 1


@dataclass(frozen=True, slots=True)
class Resolved:
    """The topics of a regular expression, as they were at a version of the metadata and a time in ms since 1970."""

    topics: frozenset[str]
    version: int
    timestamp: int


class ConsumerGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp = 0
        """Milliseconds since 1970; 0: unknown."""
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Target] = {}
        self.resolved: dict[str, Resolved] = {}
        self.static_ids: dict[str, str] = {}
        """The member id of each instance id."""
        self.readers: Counter[str] = Counter()
        """How many members subscribe to each regular expression."""
        self.classic_count = 0
        self.has_old_metadata = False
        self.is_stale = True
        """Topics that it reads may have changed; not a part of the log."""
        self.is_resolving = False
        """Its regular expressions are being matched; not a part of the log."""
        self.is_assigning = False
        """Its target is being computed; not a part of the log."""
        self._holders: dict[tuple[Uuid, int], int] = {}
        """How many members hold each partition: more than one only while records of a log are replayed."""

    # Looking.

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.epoch > self.target_epoch:
            return ASSIGNING
        is_done = all(each.is_reconciled_to(self.target_epoch) for each in self.members.values())
        return STABLE if is_done else RECONCILING

    def is_held(self, topic_id: Uuid, index: int) -> bool:
        return (topic_id, index) in self._holders

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        found = None if instance_id is None else self.static_ids.get(instance_id)
        return None if found is None else self.members.get(found)

    def target_of(self, member_id: str, instance_id: str | None) -> Target:
        """A static member that is back has that of who it was."""
        known = member_id if instance_id is None else self.static_ids.get(instance_id)
        return NO_TARGET if known is None else self.targets.get(known, NO_TARGET)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """Those that it names, and those of its regular expression as far as they are known."""
        found = self.resolved.get(member.pattern) if member.pattern else None
        return member.topics if found is None else member.topics | found.topics

    def subscribed(self) -> set[str]:
        """Names of topics that the group reads."""
        names = {name for each in self.members.values() for name in each.topics}
        return names.union(*(each.topics for each in self.resolved.values()))

    def reads(self, topic: str) -> bool:
        if any(topic in each.topics for each in self.resolved.values()):
            return True
        return any(topic in each.topics for each in self.members.values())

    # From the log.

    def replay(self, record: ConsumerRecord) -> None:
        key, value = record.key, record.value
        match key:
            case EpochKey():
                if isinstance(value, EpochValue):
                    self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case OldMetadataKey():
                self.has_old_metadata = value is not None
            case MemberKey(member_id=member_id):
                if isinstance(value, MemberValue):
                    self._put(records.with_subscription(self._known(member_id), value))
                else:
                    self._remove(member_id)
            case TargetEpochKey():
                found = value if isinstance(value, TargetEpochValue) else None
                self.target_epoch = LEAVING if found is None else found.assignment_epoch
                self.target_timestamp = 0 if found is None else found.assignment_timestamp
            case TargetKey(member_id=member_id):
                if isinstance(value, TargetValue):
                    self.targets[member_id] = records.target_in(value)
                else:
                    self.targets.pop(member_id, None)
            case CurrentKey(member_id=member_id):
                self._replay_current(member_id, value if isinstance(value, CurrentValue) else None)
            case PatternKey(regular_expression=pattern):
                if isinstance(value, PatternValue):
                    self.resolved[pattern] = Resolved(frozenset(value.topics), value.version, value.timestamp)
                else:
                    self.resolved.pop(pattern, None)
            case _ as unknown:
                assert_never(unknown)

    def _replay_current(self, member_id: str, value: CurrentValue | None) -> None:
        if value is None:
            member = self.members.get(member_id)
            if member is not None:
                self._put(replace(member, epoch=LEAVING, previous_epoch=LEAVING, assigned=NOTHING, revoking=NOTHING))
            return
        self._put(
            replace(
                self._known(member_id),
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                state=records.state_in(value.state),
                assigned=records.owned_in(value.assigned_partitions, value.member_epoch),
                revoking=records.owned_in(value.partitions_pending_revocation, value.member_epoch),
            )
        )

    def _known(self, member_id: str) -> ConsumerMember:
        return self.members.get(member_id) or ConsumerMember(member_id)

    def _put(self, member: ConsumerMember) -> None:
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is not None:
            self._count(before, -1)
        self._count(member, 1)
        if before is None or before.assigned is not member.assigned or before.revoking is not member.revoking:
            if before is not None:
                self._hold(before, -1)
            self._hold(member, 1)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._count(member, -1)
        self._hold(member, -1)

    def _count(self, member: ConsumerMember, by: int) -> None:
        self.classic_count += by * (member.classic is not None)
        if member.pattern:
            self.readers[member.pattern] += by
            if not self.readers[member.pattern]:
                del self.readers[member.pattern]
        if member.instance_id is None:
            return
        if by > 0:
            self.static_ids[member.instance_id] = member.member_id
        elif self.static_ids.get(member.instance_id) == member.member_id:
            del self.static_ids[member.instance_id]

    def _hold(self, member: ConsumerMember, by: int) -> None:
        for owned in (member.assigned, member.revoking):
            self._hold_each(owned, by)

    def _hold_each(self, owned: Owned, by: int) -> None:
        for topic_id, indexes in owned.items():
            for index in indexes:
                count = self._holders.get((topic_id, index), 0) + by
                if count:
                    self._holders[topic_id, index] = count
                else:
                    del self._holders[topic_id, index]


def waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """A partition of its target is held by somebody else still."""
    if member.state is not MemberState.UNRELEASED:
        return False
    target = group.targets.get(member.member_id, NO_TARGET)
    return any(
        index not in member.assigned.get(topic_id, {}) and group.is_held(topic_id, index)
        for topic_id, indexes in target.items()
        for index in indexes
    )
