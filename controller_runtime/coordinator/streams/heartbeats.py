"""StreamsGroupHeartbeat: a member joins with its topology, says which tasks it has, and is told which it is to have
(KIP-1071).

The checks, their order and their words are those of Apache Kafka's group coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.coordinator.consumer.heartbeats import Sender
from controller_runtime.coordinator.consumer.members import JOINING
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.values import REBALANCE, SESSION
from controller_runtime.coordinator.streams import records
from controller_runtime.coordinator.streams.configuring import Configured, ConfiguredSubtopology, configure
from controller_runtime.coordinator.streams.endpoints import partitions_by_endpoint
from controller_runtime.coordinator.streams.group import UNVALIDATED, StreamsGroup
from controller_runtime.coordinator.streams.members import MemberState, Owned, Place, StreamsMember, Target, Tasks
from controller_runtime.coordinator.streams.partition_counts import Status
from controller_runtime.coordinator.streams.reconciliation import Course, reconciled
from controller_runtime.coordinator.streams.settings import STANDBYS
from controller_runtime.coordinator.streams.targets import Basis, Goal, advance
from controller_runtime.coordinator.streams.topology import BadTopology, Topology, as_written
from controller_runtime.coordinator.streams.values import FIRST_REBALANCE, StreamsChange, StreamsWorld
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import streams_group_heartbeat_response as told
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    StreamsGroupHeartbeatRequest,
    TaskIds,
)
from controller_runtime.protocol.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from controller_runtime.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Beaten:
    """What a heartbeat comes to."""

    change: StreamsChange
    answer: StreamsGroupHeartbeatResponse
    to_make: Mapping[str, CreatableTopic]
    """Topics of the group itself that are to be made."""


def beat(
    group: StreamsGroup, request: StreamsGroupHeartbeatRequest, sender: Sender, world: StreamsWorld, *, is_new: bool
) -> Beaten:
    """Of a member that joins or stays. `is_new`: nothing is written of the group yet. Raises Refused."""
    joins = request.member_epoch == JOINING
    group_id, pace = group.group_id, world.pace(group.group_id)
    change = StreamsChange(group)
    if joins and len(group.members) >= world.settings.max_size:
        words = f"The streams group has reached its maximum capacity of {world.settings.max_size} members."
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, words)
    member = _member(group, request)
    updated = _updated(member, request, sender)
    is_due = updated != member
    if is_due:
        change.records.append(records.member(group_id, updated))
    topology = _topology(change, group, request)
    statuses = _stale_status(group, updated)
    configured, metadata_hash, has_new_topics = _configured(change, group, topology, world)
    is_due = is_due or has_new_topics
    validated = UNVALIDATED
    if configured.is_ready and configured.subtopologies is not None:
        validated = topology.epoch
        for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
            _judge_tasks(configured.subtopologies, tasks)
    configs = {STANDBYS: str(pace.standby_replicas)}
    is_due = is_due or validated != group.validated_epoch or configs != dict(group.configs)
    epoch = group.epoch
    if is_due:
        epoch += 1
        change.records.append(records.epoch(group_id, epoch, metadata_hash, validated, configs))
        change.has_seen_topics = True
    if not group.members and pace.initial_rebalance_delay_ms > 0:
        change.set_clock(FIRST_REBALANCE, "", pace.initial_rebalance_delay_ms, unless_set=True)
        world = replace(world, is_delayed=True)
    members = {**group.members, updated.member_id: updated}
    goal = advance(change, group, updated.member_id, Basis(epoch, members, configured, configs), world)
    if goal.delayed is not None:
        statuses.append(_status(goal.delayed.status, goal.delayed.words))
    settled = _reconciled(change, group, updated, goal, request)
    change.set_clock(SESSION, settled.member_id, pace.times.session_timeout_ms)
    if request.shutdown_application:
        change.shutdown_by = settled.member_id
    answer = _answer(change, (member, settled), request, world, is_new=is_new)
    if configured.problem is not None:
        statuses.append(_status(configured.problem.status, configured.problem.words))
    shutdown_by = group.shutdown_by or change.shutdown_by
    if shutdown_by is not None:
        words = f"Streams group member {shutdown_by} encountered a fatal error and requested a shutdown for the entire "
        statuses.append(_status(Status.SHUTDOWN_APPLICATION, f"{words}application."))
    return Beaten(change, replace(answer, status=tuple(statuses)), configured.to_make)


def _answer(
    change: StreamsChange,
    moved: tuple[StreamsMember, StreamsMember],
    request: StreamsGroupHeartbeatRequest,
    world: StreamsWorld,
    *,
    is_new: bool,
) -> StreamsGroupHeartbeatResponse:
    """`moved`: the member before and now. Tasks are told to who joins, and when they are others."""
    group, (member, settled) = change.group, moved
    answer = StreamsGroupHeartbeatResponse(
        member_id=settled.member_id,
        member_epoch=settled.epoch,
        heartbeat_interval_ms=world.pace(group.group_id).times.heartbeat_interval_ms,
        endpoint_information_epoch=0,
    )
    if request.member_epoch == JOINING or settled.assigned != member.assigned:
        answer = _with_tasks(answer, settled.assigned)
        change.has_moved_endpoint = settled.user_endpoint is not None
    endpoints_epoch = group.endpoints_epoch + change.has_moved_endpoint
    if endpoints_epoch != request.endpoint_information_epoch:
        seen = change.configured or group.configured
        others = (each for each in group.members.values() if each.member_id != settled.member_id)
        shown = partitions_by_endpoint((*others, settled), None if seen is None else seen.subtopologies, world.image)
        answer = replace(answer, partitions_by_user_endpoint=shown)
    return answer if is_new else replace(answer, endpoint_information_epoch=endpoints_epoch)


# Who it is.


def _member(group: StreamsGroup, request: StreamsGroupHeartbeatRequest) -> StreamsMember:
    """Who comes with the epoch before has perhaps not got the answer with the newer one: if all that it has is assigned
    to it, it goes on. Epoch 0 begins anew.
    """
    epoch = request.member_epoch
    if epoch == JOINING:
        return group.members.get(request.member_id) or StreamsMember(request.member_id)
    member = known_member(group, request.member_id)
    if epoch > member.epoch:
        which = "greater"
    elif epoch < member.epoch and not (epoch == member.previous_epoch and _has_only(request, member.assigned)):
        which = "smaller"
    else:
        return member
    words = (
        f"The streams group member has a {which} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )
    raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, words)


def known_member(group: StreamsGroup, member_id: str) -> StreamsMember:
    """Raises Refused."""
    member = group.members.get(member_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def _has_only(request: StreamsGroupHeartbeatRequest, owned: Owned) -> bool:
    pairs = (
        (request.active_tasks, owned.without_epochs.active),
        (request.standby_tasks, owned.standby),
        (request.warmup_tasks, owned.warmup),
    )
    return all(
        tasks is not None
        and all(each.subtopology_id in known and known[each.subtopology_id] >= {*each.partitions} for each in tasks)
        for tasks, known in pairs
    )


def _updated(member: StreamsMember, request: StreamsGroupHeartbeatRequest, sender: Sender) -> StreamsMember:
    """What is not said stays as it was."""
    timeout, place, tags = request.rebalance_timeout_ms, request.user_endpoint, request.client_tags
    if tags is not None and len({each.key for each in tags}) < len(tags):
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
        client_id=sender.client_id,
        client_host=sender.client_host,
        process_id=member.process_id if request.process_id is None else request.process_id,
        client_tags=member.client_tags if tags is None else {each.key: each.value for each in tags},
        user_endpoint=member.user_endpoint if place is None else Place(place.host, place.port),
    )


# Its topology.


def _topology(change: StreamsChange, group: StreamsGroup, request: StreamsGroupHeartbeatRequest) -> Topology:
    """Of the group: the first one that comes. Raises Refused."""
    known = group.topology
    if request.topology is None:
        if known is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        return known
    written = as_written(request.topology)
    try:
        said = Topology.of(written)
    except BadTopology as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR) from error
    if known is None:
        change.records.append(records.topology(group.group_id, written))
        return said
    if known.epoch <= said.epoch and known != said:
        raise Refused(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return known


def _stale_status(group: StreamsGroup, member: StreamsMember) -> list[told.Status]:
    known = group.topology
    if known is None or member.topology_epoch >= known.epoch:
        return []
    words = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch {known.epoch}."
    return [_status(Status.STALE_TOPOLOGY, words)]


def _configured(
    change: StreamsChange, group: StreamsGroup, topology: Topology, world: StreamsWorld
) -> tuple[Configured, int, bool]:
    """With the hash of the topics, and whether they are others than before."""
    is_new = group.topology is None
    if not is_new and group.configured is not None and not group.is_stale:
        return group.configured, group.metadata_hash, False
    metadata_hash = world.hashes.of_group(topology.required, world.image)
    has_changed = metadata_hash != group.metadata_hash
    if not is_new and not has_changed and group.configured is not None:
        return group.configured, metadata_hash, False
    change.configured = configure(topology, world.image)
    return change.configured, metadata_hash, has_changed


def _judge_tasks(subtopologies: Mapping[str, ConfiguredSubtopology], tasks: Sequence[TaskIds] | None) -> None:
    for each in tasks or ():
        known = subtopologies.get(each.subtopology_id)
        if known is None:
            words = f"Subtopology {each.subtopology_id} does not exist in the topology."
            raise Refused(ErrorCode.INVALID_REQUEST, words)
        for index in each.partitions:
            if not 0 <= index < known.tasks:
                words = (
                    f"Task {index} for subtopology {each.subtopology_id} is invalid. Number of tasks for this "
                    f"subtopology: {known.tasks}"
                )
                raise Refused(ErrorCode.INVALID_REQUEST, words)


# Its tasks.


def _reconciled(
    change: StreamsChange,
    group: StreamsGroup,
    member: StreamsMember,
    goal: Goal,
    request: StreamsGroupHeartbeatRequest,
) -> StreamsMember:
    if member.is_reconciled_to(goal.epoch):
        return member
    found = reconciled(member, Course(goal.epoch, goal.target, _reported(request), group))
    if found == member:
        return member
    change.records.append(records.current(group.group_id, found))
    if found.state is MemberState.UNREVOKED:
        change.set_clock(REBALANCE, found.member_id, found.rebalance_timeout_ms)
    else:
        change.stop_clock(REBALANCE, found.member_id)
    return found


def _reported(request: StreamsGroupHeartbeatRequest) -> Target | None:
    active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if active is None or standby is None or warmup is None:
        return None
    return Target(_tasks(active), _tasks(standby), _tasks(warmup))


def _tasks(tasks: Sequence[TaskIds]) -> Tasks:
    found = {each.subtopology_id: frozenset(each.partitions) for each in tasks}
    if len(found) < len(tasks):
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    return found


def _with_tasks(answer: StreamsGroupHeartbeatResponse, owned: Owned) -> StreamsGroupHeartbeatResponse:
    def shown(tasks: Tasks) -> tuple[told.TaskIds, ...]:
        return tuple(told.TaskIds(subtopology_id=each, partitions=tuple(sorted(tasks[each]))) for each in sorted(tasks))

    return replace(
        answer,
        active_tasks=shown(owned.without_epochs.active),
        standby_tasks=shown(owned.standby),
        warmup_tasks=shown(owned.warmup),
    )


def _status(status: Status, words: str) -> told.Status:
    return told.Status(status_code=int(status), status_detail=words)
