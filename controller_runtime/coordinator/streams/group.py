"""A streams group as its records say it is. Only `replay` changes that.

What is not in the log (the topics as they were seen, who asked for a shutdown, how often places of members have
changed) is lost when another node coordinates the group, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, assert_never

from controller_runtime.coordinator.consumer.members import LEAVING
from controller_runtime.coordinator.streams import records
from controller_runtime.coordinator.streams.configuring import Configured
from controller_runtime.coordinator.streams.members import NO_TASKS, NOTHING, StreamsMember, Target
from controller_runtime.coordinator.streams.record_shapes import (
    CurrentKey,
    CurrentValue,
    EpochKey,
    EpochValue,
    MemberKey,
    MemberValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetValue,
    TopologyKey,
    TopologyValue,
)
from controller_runtime.coordinator.streams.records import StreamsRecord
from controller_runtime.coordinator.streams.topology import Topology
from controller_runtime.values import replace

EMPTY, NOT_READY, ASSIGNING, RECONCILING, STABLE = "Empty", "NotReady", "Assigning", "Reconciling", "Stable"
_FIRST_EPOCH: Final = 1
UNVALIDATED: Final = -1
FILTERS: Final = {NOT_READY: "not_ready"}
"""How filters of ListGroups call a state, if not by its name."""


class StreamsGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_epoch = 0
        """Of the topology whose topics were as it needs them."""
        self.configs: Mapping[str, str] = {}
        """With which the last target was made."""
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp = 0
        """Milliseconds since 1970; 0: unknown."""
        self.topology: Topology | None = None
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, Target] = {}
        # Not a part of the log:
        self.configured: Configured | None = None
        self.is_stale = True
        """Its topics may have changed."""
        self.shutdown_by: str | None = None
        """A member that wants the whole application to end."""
        self.endpoints_epoch = 0
        self._active: dict[tuple[str, int], str] = {}
        """The process of each active task."""
        self._passive: dict[tuple[str, int], set[str]] = {}
        """The processes of standbys and warm-ups."""

    # Looking.

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return NOT_READY
        if self.epoch > self.target_epoch:
            return ASSIGNING
        is_done = all(each.is_reconciled_to(self.target_epoch) for each in self.members.values())
        return STABLE if is_done else RECONCILING

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_TASKS)

    def requires(self, topic: str) -> bool:
        return self.topology is not None and topic in self.topology.required

    def reads(self, topic: str) -> bool:
        """While it has members."""
        return bool(self.members) and self.topology is not None and topic in self.topology.readers

    # Implements reconciliation.Holders.

    def is_active(self, subtopology: str, index: int) -> bool:
        return (subtopology, index) in self._active

    def is_active_on(self, process_id: str, subtopology: str, index: int) -> bool:
        return self._active.get((subtopology, index)) == process_id

    def is_passive_on(self, process_id: str, subtopology: str, index: int) -> bool:
        return process_id in self._passive.get((subtopology, index), ())

    # From the log.

    def replay(self, record: StreamsRecord) -> None:
        key, value = record.key, record.value
        match key:
            case EpochKey():
                if isinstance(value, EpochValue):
                    self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
                    self.validated_epoch = value.validated_topology_epoch
                    self.configs = {each.key: each.value for each in value.last_assignment_configs or ()}
            case MemberKey(member_id=member_id):
                if isinstance(value, MemberValue):
                    self._put(records.with_metadata(self._known(member_id), value))
                elif (member := self.members.pop(member_id, None)) is not None:
                    self._drop(member)
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
            case TopologyKey():
                self.topology = Topology.of(value) if isinstance(value, TopologyValue) else None
            case _ as unknown:
                assert_never(unknown)
        if not self.members:
            self.shutdown_by = None

    def _replay_current(self, member_id: str, value: CurrentValue | None) -> None:
        if value is not None:
            self._put(records.with_current(self._known(member_id), value))
        elif member_id in self.members:
            gone = self.members[member_id]
            self._put(replace(gone, epoch=LEAVING, previous_epoch=LEAVING, assigned=NOTHING, revoking=NOTHING))

    def _known(self, member_id: str) -> StreamsMember:
        return self.members.get(member_id) or StreamsMember(member_id)

    def _put(self, member: StreamsMember) -> None:
        before = self.members.get(member.member_id)
        if before is not None:
            self._drop(before)
        self.members[member.member_id] = member
        for owned in (member.assigned, member.revoking):
            for each, since in owned.active.items():
                self._active.update(((each, index), member.process_id) for index in since)
            for tasks in (owned.standby, owned.warmup):
                for each, indexes in tasks.items():
                    for index in indexes:
                        self._passive.setdefault((each, index), set()).add(member.process_id)

    def _drop(self, member: StreamsMember) -> None:
        """What it holds; a task that somebody else has meanwhile stays his."""
        for owned in (member.assigned, member.revoking):
            for each, since in owned.active.items():
                for index in since:
                    if self._active.get((each, index)) == member.process_id:
                        del self._active[each, index]
            for tasks in (owned.standby, owned.warmup):
                for each, indexes in tasks.items():
                    for index in indexes:
                        processes = self._passive.get((each, index), set())
                        processes.discard(member.process_id)
                        if not processes:
                            self._passive.pop((each, index), None)


class StreamsGroups:
    """Of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self.by_id: dict[str, StreamsGroup] = {}

    def replay(self, record: StreamsRecord) -> None:
        """A tombstone makes no group."""
        group = self.by_id.get(record.group_id)
        if group is None:
            if record.value is None:
                return
            group = self.by_id[record.group_id] = StreamsGroup(record.group_id)
        if record.value is None and isinstance(record.key, EpochKey):
            del self.by_id[record.group_id]
        else:
            group.replay(record)

    def see_topics(self, names: Collection[str]) -> None:
        """These were made, deleted or changed."""
        for group in self.by_id.values():
            group.is_stale = group.is_stale or any(map(group.requires, names))
