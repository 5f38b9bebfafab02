"""ListGroups, DescribeGroups, DeleteGroups: what administrators ask of groups."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator import share_deleting
from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import CONSUMER
from controller_runtime.coordinator.classic_values import State
from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Gathering, PartStored
from controller_runtime.coordinator.offsets_records import GroupLogRecord, GroupRecord, OffsetPlace, OffsetRecord
from controller_runtime.coordinator.share import records as of_shares
from controller_runtime.coordinator.streams import records as of_streams
from controller_runtime.coordinator.streams.group import FILTERS
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse

DEAD: Final = "Dead"
CLASSIC: Final = "classic"
SHARE: Final = "share"
STREAMS: Final = "streams"
_FIRST_DESCRIBE_WITH_ERRORS: Final = 6
"""Before it a group that is not there is only dead."""
Answering = InPieces[Respond, list[Respond]]


def list_groups(
    groups: GroupCoordinator, event: RequestReceived, request: ListGroupsRequest, now: Instant, wall: WallClock
) -> Answering:
    """Of all partitions that are led here. Filters match whatever the case."""
    del now, wall
    states = {each.lower() for each in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    listed: list[ListedGroup] = []
    for partition in list(groups.partitions.values()):
        if not partition.is_loaded and not partition.fault:
            answer = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return [Respond(event.request_id, answer)]
        for group in list(partition.groups.values()):
            yield None
            if (not states or group.state.lower() in states) and (not types or CLASSIC in types):
                listed.append(
                    ListedGroup(
                        group_id=group.group_id,
                        protocol_type=group.protocol_type or "",
                        group_state=group.state,
                        group_type=CLASSIC,
                    )
                )
        for consumers in list(partition.consumers.values()):
            yield None
            state = consumers.state
            if (not states or state.lower() in states) and (not types or CONSUMER in types):
                listed.append(
                    ListedGroup(
                        group_id=consumers.group_id, protocol_type=CONSUMER, group_state=state, group_type=CONSUMER
                    )
                )
        for shared in list(partition.shares.by_id.values()):
            yield None
            if (not states or shared.state.lower() in states) and (not types or SHARE in types):
                listed.append(
                    ListedGroup(
                        group_id=shared.group_id, protocol_type=SHARE, group_state=shared.state, group_type=SHARE
                    )
                )
        for streams in list(partition.streams.by_id.values()):
            yield None
            state = streams.state
            if (not states or FILTERS.get(state, state.lower()) in states) and (not types or STREAMS in types):
                listed.append(
                    ListedGroup(group_id=streams.group_id, protocol_type=STREAMS, group_state=state, group_type=STREAMS)
                )
    return [Respond(event.request_id, ListGroupsResponse(groups=tuple(listed)))]


def describe_groups(
    groups: GroupCoordinator, event: RequestReceived, request: DescribeGroupsRequest, now: Instant, wall: WallClock
) -> Answering:
    del now, wall
    described: list[DescribedGroup] = []
    for group_id in request.groups:
        described.append(_described(groups, group_id, event.api_version, request))
        yield None
    return [Respond(event.request_id, DescribeGroupsResponse(groups=tuple(described)))]


def _described(groups: GroupCoordinator, group_id: str, version: int, request: DescribeGroupsRequest) -> DescribedGroup:
    found = groups.find(group_id)
    if isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    bits = ALL_OF_GROUP if request.include_authorized_operations else NOT_ASKED
    group = found.groups.get(group_id)
    if group is None:
        if version < _FIRST_DESCRIBE_WITH_ERRORS:
            return DescribedGroup(group_id=group_id, group_state=DEAD, authorized_operations=bits)
        is_other = any(group_id in each for each in (found.consumers, found.shares.by_id, found.streams.by_id))
        words = f"Group {group_id} is not a classic group." if is_other else f"Group {group_id} not found."
        return DescribedGroup(
            group_id=group_id,
            group_state=DEAD,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=words,
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if group.state is State.STABLE else "",
        members=_members(group),
        authorized_operations=bits,
    )


def _members(group: ClassicGroup) -> tuple[DescribedGroupMember, ...]:
    """What they read is known while the group is stable."""
    is_stable = group.state is State.STABLE
    return tuple(
        DescribedGroupMember(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            member_metadata=each.metadata(group.protocol) if is_stable else b"",
            member_assignment=each.assignment if is_stable else b"",
        )
        for each in group.members.by_id.values()
    )


def delete_groups(
    groups: GroupCoordinator, event: RequestReceived, request: DeleteGroupsRequest, now: Instant, wall: WallClock
) -> Answering:
    """Groups without members, with all that they have committed; each whole or not at all."""
    names = list(dict.fromkeys(request.groups_names))
    gathering = Gathering(event.request_id, names, [ErrorCode.NONE] * len(names))
    for place, group_id in enumerate(names):
        found = groups.find(group_id)
        error = found if isinstance(found, ErrorCode) else _judge_deletion(found, group_id)
        gathering.codes[place] = error
        if not error and not isinstance(found, ErrorCode):
            shared = found.shares.by_id.get(group_id)
            if shared is not None and share_deleting.begin(found, shared, PartStored(gathering, place), now, wall):
                continue
            gathering.open += 1
            said = found.write(tombstones(found, group_id), PartStored(gathering, place), now, wall)
            assert not said, "a part says nothing"
            if not gathering.codes[place]:
                found.forget(group_id)
        yield None
    gathering.is_whole = True
    return [] if gathering.open else [deletion_answer(gathering)]


def _judge_deletion(partition: GroupPartition, group_id: str) -> ErrorCode:
    consumers = partition.consumers.get(group_id)
    if consumers is not None:
        return ErrorCode.NON_EMPTY_GROUP if consumers.members else ErrorCode.NONE
    shared = partition.shares.by_id.get(group_id)
    if shared is not None:
        return ErrorCode.NON_EMPTY_GROUP if shared.members else ErrorCode.NONE
    streams = partition.streams.by_id.get(group_id)
    if streams is not None:
        return ErrorCode.NON_EMPTY_GROUP if streams.members else ErrorCode.NONE
    group = partition.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is State.EMPTY else ErrorCode.NON_EMPTY_GROUP


def tombstones(partition: GroupPartition, group_id: str) -> list[GroupLogRecord]:
    """Of a whole group: its offsets, and then itself."""
    places = (OffsetPlace(group_id, topic, index) for topic, index in partition.offsets.of(group_id))
    consumers = partition.consumers.get(group_id)
    if consumers is not None:
        itself = records.group_gone(group_id, list(consumers.members), list(consumers.resolved))
        return [*(OffsetRecord(place, None) for place in places), *itself]
    if group_id in partition.shares.by_id:
        return list(of_shares.group_gone(group_id))
    if group_id in partition.streams.by_id:
        return [*(OffsetRecord(place, None) for place in places), *of_streams.group_gone(group_id)]
    return [*(OffsetRecord(place, None) for place in places), GroupRecord(group_id, None)]


def deletion_answer(gathering: Gathering) -> Respond:
    results = tuple(
        DeletableGroupResult(group_id=group_id, error_code=code)
        for group_id, code in zip(gathering.names, gathering.codes, strict=True)
    )
    return Respond(gathering.request_id, DeleteGroupsResponse(results=results))
