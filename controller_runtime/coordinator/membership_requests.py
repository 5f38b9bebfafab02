"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: members of groups of the classic protocol."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator import classic_requests as classic
from controller_runtime.coordinator import mixed_requests as mixed
from controller_runtime.coordinator.classic_members import Asked, Joining, text_of_uuid
from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_answers import heartbeat, join_refused, sync_refused
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.offsets_records import GroupRecord
from controller_runtime.coordinator.streams import records as of_streams
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId, RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.group_metadata_value import GroupMetadataValue
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest
from controller_runtime.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from controller_runtime.values import replace

_FIRST_JOIN_WITH_REBALANCE_TIMEOUT: Final = 1
_FIRST_SYNC_WITH_PROTOCOL: Final = 5
_FIRST_LEAVE_OF_SEVERAL: Final = 3
Responds = list[Respond]


def join_group(
    groups: GroupCoordinator, event: RequestReceived, request: JoinGroupRequest, now: Instant, wall: WallClock
) -> Responds:
    asked, settings = Asked(event.request_id, event.api_version), groups.settings
    if not request.group_id:
        return [join_refused(asked, ErrorCode.INVALID_GROUP_ID, request.member_id)]
    if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
        return [join_refused(asked, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)]
    found = groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        return [join_refused(asked, found, request.member_id)]
    consumers = found.consumers.get(request.group_id)
    if consumers is not None and consumers.members:
        joining = replace(_joining(event, request, asked, uuid := groups.new_uuid()), new_member_id=str(uuid))
        return _join_consumers(found, consumers, event.request_id, request, joining, now=now, wall=wall)
    streams = found.streams.by_id.get(request.group_id)
    if request.group_id in found.shares.by_id or (streams is not None and streams.members):
        return [join_refused(asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")]
    is_new = request.group_id not in found.groups
    if is_new and request.member_id:
        return [join_refused(asked, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)]
    if consumers is not None:
        found.write(records.group_gone(request.group_id, [], list(consumers.resolved)), None, now, wall)
    if streams is not None:
        found.write(of_streams.group_gone(request.group_id), None, now, wall)
        found.forget(request.group_id)
    joining = _joining(event, request, asked, groups.new_uuid())
    group = found.group_of(request.group_id)
    out = found.perform(group, classic.join(group, joining, now, wall), now, wall)
    if is_new:
        # As in Kafka: whoever coordinates the group next knows that it was there.
        if group.state_since is None:
            group.state_since = wall
        empty = GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=group.state_since)
        out += found.write([GroupRecord(group.group_id, empty)], None, now, wall)
    return out


def _join_consumers(
    found: GroupPartition,
    group: ConsumerGroup,
    request_id: RequestId,
    request: JoinGroupRequest,
    joining: Joining,
    *,
    now: Instant,
    wall: WallClock,
) -> Responds:
    """A member of the classic protocol joins a group of the consumer protocol."""
    try:
        joined = mixed.join(group, joining, found.world(wall), found.new_group(group.group_id), wall)
    except Refused as refused:
        return [join_refused(joining.asked, refused.code)]
    if isinstance(joined, str):
        return [join_refused(joining.asked, ErrorCode.MEMBER_ID_REQUIRED, joined)]
    if joined.becomes is None:
        said: Responds | ErrorCode = found.act(joined.change, now, wall) or []
    else:
        said = found.become_classic(joined.becomes, joined.records, now, wall, rebalances=joined.rebalances)
    if isinstance(said, ErrorCode):
        return [join_refused(joining.asked, told_of(said))]
    return [*said, *found.answered(Answer(request_id, request, joined.answer), now)]


def _joining(event: RequestReceived, request: JoinGroupRequest, asked: Asked, uuid: Uuid) -> Joining:
    has_timeout = event.api_version >= _FIRST_JOIN_WITH_REBALANCE_TIMEOUT
    client_id = event.client_id or ""
    return Joining(
        asked,
        request.member_id,
        request.group_instance_id,
        client_id,
        host_of(event.connection.peer_address),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if has_timeout else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, each.metadata) for each in request.protocols),
        new_member_id=f"{request.group_instance_id or client_id}-{text_of_uuid(uuid)}",
    )


def host_of(address: bytes) -> str:
    """As Java writes an address without a name."""
    if len(address) == 4:
        return "/" + ".".join(map(str, address))
    return "/" + ":".join(f"{int.from_bytes(address[at : at + 2], 'big'):x}" for at in range(0, len(address), 2))


def lacks_protocol(request: SyncGroupRequest, version: int) -> bool:
    """Whoever syncs without naming it is told so first, even if the group is not his."""
    is_named = request.protocol_type is not None and request.protocol_name is not None
    return version >= _FIRST_SYNC_WITH_PROTOCOL and not is_named


def sync_group(
    groups: GroupCoordinator, event: RequestReceived, request: SyncGroupRequest, now: Instant, wall: WallClock
) -> Responds:
    asked = Asked(event.request_id, event.api_version)
    if lacks_protocol(request, event.api_version):
        return [sync_refused(asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)]
    if not request.group_id:
        return [sync_refused(asked, ErrorCode.INVALID_GROUP_ID)]
    found = groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        # Who syncs is a member of a generation that a coordinator that reads still does not know: it joins again.
        is_loading = found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return [sync_refused(asked, ErrorCode.REBALANCE_IN_PROGRESS if is_loading else found)]
    consumers = found.consumers.get(request.group_id)
    if consumers is not None:
        try:
            change, answer = mixed.sync(consumers, request, found.world(wall))
        except Refused as refused:
            return [sync_refused(asked, refused.code)]
        found.act(change, now, wall)
        return found.answered(Answer(event.request_id, request, answer), now)
    group = found.groups.get(request.group_id)
    if group is None:
        return [sync_refused(asked, ErrorCode.UNKNOWN_MEMBER_ID)]
    return found.perform(group, classic.sync(group, asked, request, now), now, wall)


def beat(
    groups: GroupCoordinator, event: RequestReceived, request: HeartbeatRequest, now: Instant, wall: WallClock
) -> Responds:
    asked = Asked(event.request_id, event.api_version)
    if not request.group_id:
        return [heartbeat(asked, ErrorCode.INVALID_GROUP_ID)]
    found = groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        # A coordinator that reads still does not end anybody's session.
        is_loading = found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return [heartbeat(asked, ErrorCode.NONE if is_loading else found)]
    consumers = found.consumers.get(request.group_id)
    if consumers is not None:
        try:
            change, code = mixed.beat(consumers, request.member_id, request.group_instance_id, request.generation_id)
        except Refused as refused:
            return [heartbeat(asked, refused.code)]
        found.act(change, now, wall)
        return [heartbeat(asked, code)]
    group = found.groups.get(request.group_id)
    if group is None:
        return [heartbeat(asked, ErrorCode.UNKNOWN_MEMBER_ID)]
    effects = classic.beat(group, asked, request, now)
    return found.perform(group, effects, now, wall)


def leave_group(
    groups: GroupCoordinator, event: RequestReceived, request: LeaveGroupRequest, now: Instant, wall: WallClock
) -> Responds:
    several = event.api_version >= _FIRST_LEAVE_OF_SEVERAL
    leaving = [(each.member_id, each.group_instance_id) for each in request.members]
    leaving = leaving if several else [(request.member_id, None)]
    found = groups.find(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if isinstance(found, ErrorCode):
        return [Respond(event.request_id, LeaveGroupResponse(error_code=found))]
    group = found.groups.get(request.group_id)
    consumers = found.consumers.get(request.group_id)
    codes, then = [ErrorCode.UNKNOWN_MEMBER_ID] * len(leaving), list[Respond]()
    if consumers is not None:
        codes, leavers = mixed.leavers(consumers, leaving)
        said = found.exit(consumers, leavers, now, wall) if leavers else []
        if isinstance(said, ErrorCode):
            return [Respond(event.request_id, LeaveGroupResponse(error_code=told_of(said)))]
        then = said
    elif group is not None:
        codes, effects = classic.leave(group, leaving, now, wall)
        then = found.perform(group, effects, now, wall)
    members = tuple(
        MemberResponse(member_id=member_id, group_instance_id=instance_id, error_code=code)
        for (member_id, instance_id), code in zip(leaving, codes, strict=True)
    )
    answer = LeaveGroupResponse(members=members) if several else LeaveGroupResponse(error_code=codes[0])
    if consumers is not None:
        return [*then, *found.answered(Answer(event.request_id, request, answer), now)]
    return [Respond(event.request_id, answer), *then]
