"""ShareGroupHeartbeat: members of share groups (KIP-932), from the wire to the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.coordinator.consumer.heartbeats import Sender
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.membership_requests import host_of
from controller_runtime.coordinator.share import heartbeats, states
from controller_runtime.coordinator.share.group import ShareGroup
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse

FEATURE: Final = "share.version"
Responds = list[Respond]


def is_enabled(groups: GroupCoordinator) -> bool:
    return groups.topic.image.features.level(FEATURE) >= 1


def beat(
    groups: GroupCoordinator, event: RequestReceived, request: ShareGroupHeartbeatRequest, now: Instant, wall: WallClock
) -> Responds:
    if not is_enabled(groups):
        return [_refused(event, ErrorCode.UNSUPPORTED_VERSION)]
    try:
        heartbeats.judge_request(request)
        found = groups.find(request.group_id)
        if isinstance(found, ErrorCode):
            return [_refused(event, found)]
        if request.member_epoch == LEAVING:
            return _leave(found, event, request, now, wall)
        return _beat(found, event, request, now, wall)
    except Refused as refused:
        return [_refused(event, refused.code, refused.words)]


def _beat(
    partition: GroupPartition, event: RequestReceived, request: ShareGroupHeartbeatRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    group_id = request.group_id
    group = partition.shares.by_id.get(group_id)
    if group is None:
        if is_of_others(partition, group_id):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, unlike(group_id))
        if request.member_epoch != JOINING:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
        group = ShareGroup(group_id)
    sender = Sender(event.client_id or "", host_of(event.connection.peer_address), "")
    found = heartbeats.beat(group, request, sender, partition.share_world(wall))
    error = partition.act(found.change, now, wall)
    if error:
        return [_refused(event, told_of(error))]
    out = partition.answered(Answer(event.request_id, request, found.answer), now)
    return [*out, *partition.wait(found.wanted, now)]


def _leave(
    partition: GroupPartition, event: RequestReceived, request: ShareGroupHeartbeatRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    group = known_group(partition, request.group_id)
    member = heartbeats.known_member(group, request.member_id)
    error = partition.act(heartbeats.gone(group, member, partition.share_world(wall)), now, wall)
    if error:
        return [_refused(event, told_of(error))]
    answer = ShareGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    return partition.answered(Answer(event.request_id, request, answer), now)


def known_group(partition: GroupPartition, group_id: str) -> ShareGroup:
    """Raises Refused."""
    group = partition.shares.by_id.get(group_id)
    if group is None:
        words = unlike(group_id) if is_of_others(partition, group_id) else f"Group {group_id} not found."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, words)
    return group


def is_of_others(partition: GroupPartition, group_id: str) -> bool:
    """A group of another kind has this name."""
    return group_id in partition.groups or group_id in partition.consumers or group_id in partition.streams.by_id


def unlike(group_id: str) -> str:
    return f"Group {group_id} is not a share group."


def states_settled(
    groups: GroupCoordinator,
    group_id: str,
    asked: Mapping[Uuid, frozenset[int]],
    error: ErrorCode,
    *,
    now: Instant,
    wall: WallClock,
) -> None:
    """The share coordinator has initialized the states of these partitions, or the first thing that it refuses."""
    found = groups.find(group_id)
    group = None if isinstance(found, ErrorCode) else found.shares.by_id.get(group_id)
    if group is None or isinstance(found, ErrorCode):
        return
    decide = states.refused if error else states.initialized
    found.act(decide(group, asked, found.share_world(wall)), now, wall)


def _refused(event: RequestReceived, code: ErrorCode, words: str | None = None) -> Respond:
    return Respond(event.request_id, ShareGroupHeartbeatResponse(error_code=code, error_message=words))
