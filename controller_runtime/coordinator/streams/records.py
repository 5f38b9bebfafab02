"""The records of streams groups in `__consumer_offsets`: types 17 and 19 to 23.

17 epoch of the group, with the hash of the metadata, the epoch of the topology that was found right, and with what the
   target is made
19 a member                              20 epoch of the target assignment
21 target assignment of a member         22 current assignment of a member
23 the topology
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from controller_runtime.coordinator.record_kinds import RecordKinds
from controller_runtime.coordinator.streams.members import (
    MemberState,
    Owned,
    Place,
    StreamsMember,
    Target,
    Tasks,
    TasksSince,
)
from controller_runtime.coordinator.streams.record_shapes import (
    CurrentKey,
    CurrentTasks,
    CurrentValue,
    Endpoint,
    EpochKey,
    EpochValue,
    KeyValue,
    LastAssignmentConfig,
    MemberKey,
    MemberValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetTasks,
    TargetValue,
    TopologyKey,
    TopologyValue,
)
from controller_runtime.values import dataclass, replace

Key = EpochKey | MemberKey | TargetEpochKey | TargetKey | CurrentKey | TopologyKey
Value = EpochValue | MemberValue | TargetEpochValue | TargetValue | CurrentValue | TopologyValue
_KINDS: Final = RecordKinds(
    {
        17: (EpochKey, EpochValue),
        19: (MemberKey, MemberValue),
        20: (TargetEpochKey, TargetEpochValue),
        21: (TargetKey, TargetValue),
        22: (CurrentKey, CurrentValue),
        23: (TopologyKey, TopologyValue),
    }
)


@dataclass(frozen=True, slots=True)
class StreamsRecord:
    key: Key
    value: Value | None
    """None: a tombstone."""

    @property
    def group_id(self) -> str:
        return self.key.group_id


def key_of(record: StreamsRecord) -> bytes:
    return _KINDS.key_of(record.key)


def value_of(record: StreamsRecord) -> bytes | None:
    return _KINDS.value_of(record.value)


def read(kind: int, key: bytes, value: bytes | None) -> StreamsRecord | None:
    """None: it is of another kind. Raises ProtocolError, struct.error, and ValueError for an unknown version."""
    found = _KINDS.read(kind, key, value)
    return None if found is None else StreamsRecord(*found)


# What is written.


def epoch(group_id: str, number: int, metadata_hash: int, validated: int, configs: Mapping[str, str]) -> StreamsRecord:
    value = EpochValue(
        epoch=number,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated,
        last_assignment_configs=tuple(
            LastAssignmentConfig(key=name, value=text) for name, text in sorted(configs.items())
        ),
    )
    return StreamsRecord(EpochKey(group_id=group_id), value)


def member(group_id: str, known: StreamsMember) -> StreamsRecord:
    place = known.user_endpoint
    value = MemberValue(
        instance_id=known.instance_id,
        rack_id=known.rack_id,
        client_id=known.client_id,
        client_host=known.client_host,
        rebalance_timeout_ms=known.rebalance_timeout_ms,
        topology_epoch=known.topology_epoch,
        process_id=known.process_id,
        user_endpoint=None if place is None else Endpoint(host=place.host, port=place.port),
        client_tags=tuple(KeyValue(key=name, value=text) for name, text in sorted(known.client_tags.items())),
    )
    return StreamsRecord(MemberKey(group_id=group_id, member_id=known.member_id), value)


def target(group_id: str, member_id: str, tasks: Target) -> StreamsRecord:
    def written(some: Tasks) -> tuple[TargetTasks, ...]:
        return tuple(TargetTasks(subtopology_id=each, partitions=tuple(sorted(some[each]))) for each in sorted(some))

    value = TargetValue(
        active_tasks=written(tasks.active), standby_tasks=written(tasks.standby), warmup_tasks=written(tasks.warmup)
    )
    return StreamsRecord(TargetKey(group_id=group_id, member_id=member_id), value)


def target_epoch(group_id: str, number: int, timestamp: int) -> StreamsRecord:
    value = TargetEpochValue(assignment_epoch=number, assignment_timestamp=timestamp)
    return StreamsRecord(TargetEpochKey(group_id=group_id), value)


def current(group_id: str, known: StreamsMember) -> StreamsRecord:
    assigned, revoking = known.assigned, known.revoking
    value = CurrentValue(
        member_epoch=known.epoch,
        previous_member_epoch=known.previous_epoch,
        state=int(known.state),
        active_tasks=_active(assigned.active),
        standby_tasks=_passive(assigned.standby),
        warmup_tasks=_passive(assigned.warmup),
        active_tasks_pending_revocation=_active(revoking.active),
        standby_tasks_pending_revocation=_passive(revoking.standby),
        warmup_tasks_pending_revocation=_passive(revoking.warmup),
    )
    return StreamsRecord(CurrentKey(group_id=group_id, member_id=known.member_id), value)


def _active(tasks: TasksSince) -> tuple[CurrentTasks, ...]:
    out: list[CurrentTasks] = []
    for each in sorted(tasks):
        since = dict(sorted(tasks[each].items()))
        epochs = tuple(since.values())
        out.append(CurrentTasks(subtopology_id=each, partitions=tuple(since), assignment_epochs=epochs))
    return tuple(out)


def _passive(tasks: Tasks) -> tuple[CurrentTasks, ...]:
    return tuple(CurrentTasks(subtopology_id=each, partitions=tuple(sorted(tasks[each]))) for each in sorted(tasks))


def topology(group_id: str, value: TopologyValue) -> StreamsRecord:
    return StreamsRecord(TopologyKey(group_id=group_id), value)


def member_gone(group_id: str, member_id: str) -> list[StreamsRecord]:
    """In this order, as in Kafka: who reads them believes no other."""
    keys: tuple[type[CurrentKey | TargetKey | MemberKey], ...] = (CurrentKey, TargetKey, MemberKey)
    return [StreamsRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def group_gone(group_id: str, member_ids: Collection[str] = ()) -> list[StreamsRecord]:
    def of_members(key: type[CurrentKey | TargetKey | MemberKey]) -> list[StreamsRecord]:
        return [StreamsRecord(key(group_id=group_id, member_id=each), None) for each in member_ids]

    return [
        *of_members(CurrentKey),
        *of_members(TargetKey),
        StreamsRecord(TargetEpochKey(group_id=group_id), None),
        *of_members(MemberKey),
        StreamsRecord(EpochKey(group_id=group_id), None),
        StreamsRecord(TopologyKey(group_id=group_id), None),
    ]


# What is read.


def with_metadata(known: StreamsMember, value: MemberValue) -> StreamsMember:
    place = value.user_endpoint
    return replace(
        known,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if place is None else Place(place.host, place.port),
        client_tags={each.key: each.value for each in value.client_tags},
    )


def with_current(known: StreamsMember, value: CurrentValue) -> StreamsMember:
    epoch_of_member = value.member_epoch
    return replace(
        known,
        epoch=epoch_of_member,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state) if value.state in set(MemberState) else MemberState.UNKNOWN,
        assigned=Owned(
            _since(value.active_tasks, epoch_of_member), _tasks(value.standby_tasks), _tasks(value.warmup_tasks)
        ),
        revoking=Owned(
            _since(value.active_tasks_pending_revocation, epoch_of_member),
            _tasks(value.standby_tasks_pending_revocation),
            _tasks(value.warmup_tasks_pending_revocation),
        ),
    )


def _since(tasks: tuple[CurrentTasks, ...], epoch_of_member: int) -> TasksSince:
    """Of records that have no epochs of tasks, or not as many, all have that of the member."""
    found: dict[str, dict[int, int]] = {}
    for each in tasks:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = (epoch_of_member,) * len(each.partitions)
        found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return found


def _tasks(tasks: tuple[CurrentTasks, ...] | tuple[TargetTasks, ...]) -> Tasks:
    return {each.subtopology_id: frozenset(each.partitions) for each in tasks}


def target_in(value: TargetValue) -> Target:
    return Target(_tasks(value.active_tasks), _tasks(value.standby_tasks), _tasks(value.warmup_tasks))
