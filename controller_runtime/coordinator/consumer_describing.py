"""ConsumerGroupDescribe: groups of the consumer protocol with their members, what they have and are to have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller_runtime.coordinator.consumer.group import NO_TARGET, ConsumerGroup
from controller_runtime.coordinator.consumer.members import ConsumerMember
from controller_runtime.coordinator.consumer.targets import preferred_assignor
from controller_runtime.coordinator.consumer_requests import is_enabled
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_describe_response import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_OF_CLASSIC, _OF_CONSUMER = 0, 1
"""Types of members."""


def describe_consumer_groups(
    groups: GroupCoordinator,
    event: RequestReceived,
    request: ConsumerGroupDescribeRequest,
    now: Instant,
    wall: WallClock,
) -> InPieces[Respond, list[Respond]]:
    del now, wall
    if not is_enabled(groups):
        return [Respond(event.request_id, refusal(request, ErrorCode.UNSUPPORTED_VERSION))]
    described: list[DescribedGroup] = []
    for group_id in request.group_ids:
        described.append((yield from _described(groups, group_id, request)))
    return [Respond(event.request_id, ConsumerGroupDescribeResponse(groups=tuple(described)))]


def _described(
    groups: GroupCoordinator, group_id: str, request: ConsumerGroupDescribeRequest
) -> InPieces[Respond, DescribedGroup]:
    yield None
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    found = groups.find(group_id)
    if isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    group = found.consumers.get(group_id)
    if group is None:
        is_there = any(group_id in each for each in (found.groups, found.shares.by_id, found.streams.by_id))
        words = f"Group {group_id} is not a consumer group." if is_there else f"Group {group_id} not found."
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=words)
    state, assignor = group.state, preferred_assignor(group.members.values(), groups.settings.consumer.assignors[0])
    epoch, target_epoch = group.epoch, group.target_epoch
    members: list[Member] = []
    for member in list(group.members.values()):
        members.append(_member(group, member, groups.topic.image))
        yield None
    return DescribedGroup(
        group_id=group_id,
        group_state=state,
        group_epoch=epoch,
        assignment_epoch=target_epoch,
        assignor_name=assignor,
        members=tuple(members),
        authorized_operations=ALL_OF_GROUP if request.include_authorized_operations else NOT_ASKED,
    )


def _member(group: ConsumerGroup, member: ConsumerMember, image: MetadataImage) -> Member:
    has: dict[Uuid, list[int]] = {}
    for owned in (member.assigned, member.revoking):
        for topic_id, indexes in owned.items():
            has.setdefault(topic_id, []).extend(indexes)
    target = group.targets.get(member.member_id, NO_TARGET)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.topics)),
        subscribed_topic_regex=member.pattern,
        assignment=_shown(has, image),
        target_assignment=_shown(target, image),
        member_type=_OF_CONSUMER if member.classic is None else _OF_CLASSIC,
    )


def _shown(partitions: Mapping[Uuid, Iterable[int]], image: MetadataImage) -> Assignment:
    """Of topics that are there."""
    shown = []
    for topic_id, indexes in partitions.items():
        topic = image.topics.get(topic_id)
        if topic is not None:
            shown.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(indexes))))
    return Assignment(topic_partitions=tuple(shown))
