"""A share group as its records say it is. Only `replay` changes it.

Records of a log that was compacted come in any order, and earlier ones may be missing: each is applied for itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, assert_never

from controller_runtime.coordinator.consumer.group import NO_TARGET
from controller_runtime.coordinator.consumer.members import LEAVING, Target
from controller_runtime.coordinator.share import records
from controller_runtime.coordinator.share.members import SharedTopics, ShareMember
from controller_runtime.coordinator.share.record_shapes import (
    CurrentKey,
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
    TargetValue,
)
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.identifiers import WallClock
from controller_runtime.values import replace

EMPTY, STABLE = "Empty", "Stable"
_FIRST_EPOCH: Final = 1


class ShareGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp = 0
        """Milliseconds since 1970; 0: unknown."""
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Target] = {}
        self.topics = SharedTopics()
        self.topics_said_at = WallClock(0)
        """When they were last written here; 0: by another coordinator. Not a part of the log."""
        self.is_stale = True
        """Topics that it reads may have changed; not a part of the log."""

    @property
    def state(self) -> str:
        return STABLE if self.members else EMPTY

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_TARGET)

    def subscribed(self) -> set[str]:
        return {name for each in self.members.values() for name in each.topics}

    def reads(self, topic: str) -> bool:
        return any(topic in each.topics for each in self.members.values())

    def replay(self, record: ShareGroupRecord, wall: WallClock) -> None:
        key, value = record.key, record.value
        match key:
            case EpochKey():
                if isinstance(value, EpochValue):
                    self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case MemberKey(member_id=member_id):
                if isinstance(value, MemberValue):
                    self.members[member_id] = _subscribed(self._known(member_id), value)
                else:
                    self.members.pop(member_id, None)
            case TargetEpochKey():
                found = value if isinstance(value, TargetEpochValue) else None
                self.target_epoch = LEAVING if found is None else found.assignment_epoch
                self.target_timestamp = 0 if found is None else found.assignment_timestamp
            case TargetKey(member_id=member_id):
                if isinstance(value, TargetValue):
                    self.targets[member_id] = records.partitions_in(value.topic_partitions)
                else:
                    self.targets.pop(member_id, None)
            case CurrentKey(member_id=member_id):
                self._replay_current(member_id, value if isinstance(value, CurrentValue) else None)
            case StatesKey():
                self.topics = records.states_in(value) if isinstance(value, StatesValue) else SharedTopics()
                self.topics_said_at = wall
            case _ as unknown:
                assert_never(unknown)

    def _replay_current(self, member_id: str, value: CurrentValue | None) -> None:
        if value is not None:
            assigned = records.partitions_in(value.assigned_partitions)
            epoch, before = value.member_epoch, value.previous_member_epoch
            member = self._known(member_id)
            self.members[member_id] = replace(member, epoch=epoch, previous_epoch=before, assigned=assigned)
        elif member_id in self.members:
            member = self.members[member_id]
            self.members[member_id] = replace(member, epoch=LEAVING, previous_epoch=LEAVING, assigned=NO_TARGET)

    def _known(self, member_id: str) -> ShareMember:
        return self.members.get(member_id) or ShareMember(member_id)


def _subscribed(member: ShareMember, value: MemberValue) -> ShareMember:
    return replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=frozenset(value.subscribed_topic_names),
    )


class ShareGroups:
    """Of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self.by_id: dict[str, ShareGroup] = {}

    def replay(self, record: ShareGroupRecord, wall: WallClock = WallClock(0)) -> None:
        """A tombstone makes no group."""
        group = self.by_id.get(record.group_id)
        if group is None:
            if record.value is None:
                return
            group = self.by_id[record.group_id] = ShareGroup(record.group_id)
        if record.value is None and isinstance(record.key, EpochKey):
            del self.by_id[record.group_id]
        else:
            group.replay(record, wall)

    def see_topics(self, names: Collection[str]) -> None:
        """These were made, deleted or changed."""
        for group in self.by_id.values():
            group.is_stale = group.is_stale or any(map(group.reads, names))
