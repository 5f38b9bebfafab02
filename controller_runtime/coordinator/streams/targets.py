"""The next target assignment of a streams group, and when there is one: not while it waits for its first members, and
not more often than `group.streams.assignment.interval.ms` says.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.coordinator.consumer.targets import may_compute
from controller_runtime.coordinator.streams import records
from controller_runtime.coordinator.streams.assignor import Spec, assign
from controller_runtime.coordinator.streams.configuring import Configured
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.members import NO_TASKS, StreamsMember, Target
from controller_runtime.coordinator.streams.partition_counts import Status, Unready
from controller_runtime.coordinator.streams.settings import STANDBYS
from controller_runtime.coordinator.streams.values import StreamsChange, StreamsWorld
from controller_runtime.metadata.config_values import integer
from controller_runtime.values import dataclass

_INITIAL = Unready(Status.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay.")
_INTERVAL = Unready(Status.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval.")


@dataclass(frozen=True, slots=True)
class Goal:
    """A target assignment of a member, and its epoch."""

    epoch: int
    target: Target
    delayed: Unready | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What the group is with the change that is being made."""

    epoch: int
    members: Mapping[str, StreamsMember]
    configured: Configured
    configs: Mapping[str, str]


def advance(change: StreamsChange, group: StreamsGroup, member_id: str, basis: Basis, world: StreamsWorld) -> Goal:
    """Of this member."""
    last = Goal(group.target_epoch, group.target_of(member_id))
    if world.is_delayed:
        return Goal(group.target_epoch, NO_TASKS, _INITIAL)
    if group.target_epoch >= basis.epoch:
        return last
    interval_ms = world.pace(group.group_id).times.assignment_interval_ms
    if not may_compute(group.target_timestamp, interval_ms, world.wall):
        return Goal(last.epoch, last.target, _INTERVAL)
    found = compute(change, group, basis, world)
    return Goal(basis.epoch, found.get(member_id, NO_TASKS))


def compute(change: StreamsChange, group: StreamsGroup, basis: Basis, world: StreamsWorld) -> Mapping[str, Target]:
    """Of all; only what changes for a member is written for it."""
    found: Mapping[str, Target] = dict.fromkeys(basis.members, NO_TASKS)
    if basis.configured.is_ready and basis.configured.subtopologies is not None:
        processes = {each: member.process_id for each, member in basis.members.items()}
        standbys = integer(basis.configs.get(STANDBYS)) or 0
        found = assign(Spec(processes, group.targets, basis.configured.subtopologies, standbys))
    change.records += [
        records.target(group.group_id, each, found[each])
        for each in basis.members
        if each not in group.targets or found[each] != group.targets[each]
    ]
    change.records.append(records.target_epoch(group.group_id, basis.epoch, world.wall))
    return found


def first(group: StreamsGroup, world: StreamsWorld) -> StreamsChange | None:
    """The group has waited long enough for more members; None: there is nothing to assign."""
    if not group.members or group.epoch <= group.target_epoch or group.configured is None:
        return None
    if not may_compute(group.target_timestamp, world.pace(group.group_id).times.assignment_interval_ms, world.wall):
        return None
    change = StreamsChange(group)
    compute(change, group, Basis(group.epoch, group.members, group.configured, group.configs), world)
    return change
