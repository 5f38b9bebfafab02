"""ShareGroupDescribe: share groups with their members, and which partitions these take records of."""

from __future__ import annotations

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.share.members import ShareMember
from controller_runtime.coordinator.share_requests import is_enabled, known_group
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)

_ASSIGNOR = "simple"


def describe_share_groups(
    groups: GroupCoordinator, event: RequestReceived, request: ShareGroupDescribeRequest, now: Instant, wall: WallClock
) -> InPieces[Respond, list[Respond]]:
    del now, wall
    if not is_enabled(groups):
        return [Respond(event.request_id, refusal(request, ErrorCode.UNSUPPORTED_VERSION))]
    described: list[DescribedGroup] = []
    for group_id in request.group_ids:
        described.append((yield from _described(groups, group_id, request)))
    return [Respond(event.request_id, ShareGroupDescribeResponse(groups=tuple(described)))]


def _described(
    groups: GroupCoordinator, group_id: str, request: ShareGroupDescribeRequest
) -> InPieces[Respond, DescribedGroup]:
    yield None
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    found = groups.find(group_id)
    if isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    try:
        group = known_group(found, group_id)
    except Refused as refused:
        return DescribedGroup(group_id=group_id, error_code=refused.code, error_message=refused.words)
    state, epoch, target_epoch = group.state, group.epoch, group.target_epoch
    members: list[Member] = []
    for member in list(group.members.values()):
        members.append(_member(member, groups.topic.image))
        yield None
    return DescribedGroup(
        group_id=group_id,
        group_state=state,
        group_epoch=epoch,
        assignment_epoch=target_epoch,
        assignor_name=_ASSIGNOR,
        members=tuple(members),
        authorized_operations=ALL_OF_GROUP if request.include_authorized_operations else NOT_ASKED,
    )


def _member(member: ShareMember, image: MetadataImage) -> Member:
    shown: list[TopicPartitions] = []
    for topic_id, indexes in member.assigned.items():
        topic = image.topics.get(topic_id)
        if topic is not None:
            shown.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(indexes))))
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.topics)),
        assignment=Assignment(topic_partitions=tuple(shown)),
    )
