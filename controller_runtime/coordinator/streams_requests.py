"""StreamsGroupHeartbeat: members of streams groups (KIP-1071), from the wire to the log."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.consumer.heartbeats import Sender
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING, LEAVING_FOR_NOW
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.membership_requests import host_of
from controller_runtime.coordinator.offsets_records import GroupRecord
from controller_runtime.coordinator.streams import departures, heartbeats
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.judging import judge_names, judge_request
from controller_runtime.coordinator.streams.partition_counts import Status
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from controller_runtime.values import replace

FEATURE: Final = "streams.version"
_KEPT: Final = 2
"""Heartbeats for which it is remembered that a topic could not be made."""
Responds = list[Respond]


def is_enabled(groups: GroupCoordinator) -> bool:
    """By the feature of the cluster, and the configuration of this node."""
    return groups.settings.streams.is_enabled and groups.topic.image.features.level(FEATURE) >= 1


def beat(
    groups: GroupCoordinator, event: RequestReceived, request: StreamsGroupHeartbeatRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    if not is_enabled(groups):
        return [_refused(event, ErrorCode.UNSUPPORTED_VERSION)]
    try:
        if request.topology is not None:
            judge_names(request.topology)
        judge_request(request)
        found = groups.find(request.group_id)
        if isinstance(found, ErrorCode):
            return [_refused(event, found)]
        if request.member_epoch in (LEAVING, LEAVING_FOR_NOW):
            return _leave(found, event, request, now, wall)
        return _beat(found, event, request, now, wall)
    except Refused as refused:
        return [_refused(event, refused.code, refused.words)]


def _beat(
    partition: GroupPartition,
    event: RequestReceived,
    request: StreamsGroupHeartbeatRequest,
    now: Instant,
    wall: WallClock,
) -> Responds:
    group, before = _group_of(partition, request)
    sender = Sender(event.client_id or "", host_of(event.connection.peer_address), "")
    world = partition.streams_world(group.group_id, wall)
    is_new = group.group_id not in partition.streams.by_id
    found = heartbeats.beat(group, request, sender, world, is_new=is_new and not before)
    error = partition.act(found.change, now, wall, before)
    if error:
        return [_refused(event, told_of(error))]
    answer = found.answer
    if found.to_make:
        kept_ms = _KEPT * answer.heartbeat_interval_ms
        words = partition.topic.make_topics(event.connection, found.to_make, kept_ms, now)
        if words:
            answer = _with_words(answer, words)
    return partition.answered(Answer(event.request_id, request, answer), now)


def _with_words(answer: StreamsGroupHeartbeatResponse, words: str) -> StreamsGroupHeartbeatResponse:
    """Beside what is said of topics that are missing."""
    statuses = tuple(
        replace(each, status_detail=f"{each.status_detail}; {words}")
        if each.status_code == Status.MISSING_INTERNAL_TOPICS
        else each
        for each in answer.status or ()
    )
    return replace(answer, status=statuses)


def _group_of(
    partition: GroupPartition, request: StreamsGroupHeartbeatRequest
) -> tuple[StreamsGroup, list[GroupRecord]]:
    """The group, or a new one for who joins; what is written of the empty one of the classic protocol that was there
    before.
    """
    group_id = request.group_id
    group, other = partition.streams.by_id.get(group_id), partition.groups.get(group_id)
    if group is not None:
        return group, []
    if request.member_epoch == JOINING and other is not None and other.is_empty:
        return StreamsGroup(group_id), [GroupRecord(group_id, None)]
    if is_of_others(partition, group_id):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, unlike(group_id))
    if request.member_epoch != JOINING:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
    return StreamsGroup(group_id), []


def _leave(
    partition: GroupPartition,
    event: RequestReceived,
    request: StreamsGroupHeartbeatRequest,
    now: Instant,
    wall: WallClock,
) -> Responds:
    group = known_group(partition, request.group_id)
    if request.shutdown_application and group.shutdown_by is None:
        group.shutdown_by = request.member_id
    member = heartbeats.known_member(group, request.member_id)
    error = partition.act(departures.gone(group, member), now, wall)
    if error:
        return [_refused(event, told_of(error))]
    answer = StreamsGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch, status=())
    return partition.answered(Answer(event.request_id, request, answer), now)


def known_group(partition: GroupPartition, group_id: str) -> StreamsGroup:
    """Raises Refused."""
    group = partition.streams.by_id.get(group_id)
    if group is None:
        words = unlike(group_id) if is_of_others(partition, group_id) else f"Group {group_id} not found."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, words)
    return group


def is_of_others(partition: GroupPartition, group_id: str) -> bool:
    """A group of another kind has this name."""
    return group_id in partition.groups or group_id in partition.consumers or group_id in partition.shares.by_id


def unlike(group_id: str) -> str:
    return f"Group {group_id} is not a streams group."


def _refused(event: RequestReceived, code: ErrorCode, words: str | None = None) -> Respond:
    return Respond(event.request_id, StreamsGroupHeartbeatResponse(error_code=code, error_message=words))
