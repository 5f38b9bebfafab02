"""StreamsGroupDescribe: streams groups with their topology and their members, what these have and are to have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.streams.configuring import ConfiguredSubtopology, InternalTopic
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.members import StreamsMember, Target, Tasks
from controller_runtime.coordinator.streams_requests import is_enabled, known_group
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import streams_group_topology_value as written
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_describe_response import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)


def describe_streams_groups(
    groups: GroupCoordinator,
    event: RequestReceived,
    request: StreamsGroupDescribeRequest,
    now: Instant,
    wall: WallClock,
) -> InPieces[Respond, list[Respond]]:
    del now, wall
    if not is_enabled(groups):
        return [Respond(event.request_id, refusal(request, ErrorCode.UNSUPPORTED_VERSION))]
    described: list[DescribedGroup] = []
    for group_id in request.group_ids:
        described.append((yield from _described(groups, group_id, request)))
    return [Respond(event.request_id, StreamsGroupDescribeResponse(groups=tuple(described)))]


def _described(
    groups: GroupCoordinator, group_id: str, request: StreamsGroupDescribeRequest
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
    topology = yield from _topology(group)
    members: list[Member] = []
    for member in list(group.members.values()):
        members.append(_member(group, member))
        yield None
    return DescribedGroup(
        group_id=group_id,
        group_state=state,
        group_epoch=epoch,
        assignment_epoch=target_epoch,
        topology=topology,
        members=tuple(members),
        authorized_operations=ALL_OF_GROUP if request.include_authorized_operations else NOT_ASKED,
    )


def _topology(group: StreamsGroup) -> InPieces[Respond, Topology | None]:
    """As its topics are, once they are as it needs them; before that as its members have told it."""
    configured, known = group.configured, group.topology
    if known is None:
        return None
    out: list[Subtopology] = []
    if configured is not None and configured.is_ready and configured.subtopologies is not None:
        for name, each in configured.subtopologies.items():
            out.append(_as_configured(name, each))
            yield None
        return Topology(epoch=configured.epoch, subtopologies=tuple(out))
    for name in sorted(known.subtopologies):
        out.append(_as_told(name, known.subtopologies[name]))
        yield None
    return Topology(epoch=known.epoch, subtopologies=tuple(out))


def _as_configured(name: str, each: ConfiguredSubtopology) -> Subtopology:
    def shown(topics: Mapping[str, InternalTopic]) -> tuple[TopicInfo, ...]:
        return tuple(
            TopicInfo(
                name=one.name,
                partitions=one.partitions,
                replication_factor=one.replication_factor,
                topic_configs=tuple(KeyValue(key=key, value=text) for key, text in one.configs.items()),
            )
            for one in (topics[key] for key in sorted(topics))
        )

    return Subtopology(
        subtopology_id=name,
        source_topics=tuple(sorted(each.sources)),
        repartition_sink_topics=tuple(sorted(each.sinks)),
        state_changelog_topics=shown(each.changelogs),
        repartition_source_topics=shown(each.repartitions),
    )


def _as_told(name: str, each: written.Subtopology) -> Subtopology:
    def shown(topics: Iterable[written.TopicInfo]) -> tuple[TopicInfo, ...]:
        return tuple(
            TopicInfo(
                name=one.name,
                partitions=one.partitions,
                replication_factor=one.replication_factor,
                topic_configs=tuple(KeyValue(key=two.key, value=two.value) for two in one.topic_configs),
            )
            for one in sorted(topics, key=lambda topic: topic.name)
        )

    return Subtopology(
        subtopology_id=name,
        source_topics=tuple(sorted(each.source_topics)),
        repartition_sink_topics=tuple(sorted(each.repartition_sink_topics)),
        state_changelog_topics=shown(each.state_changelog_topics),
        repartition_source_topics=shown(each.repartition_source_topics),
    )


def _member(group: StreamsGroup, member: StreamsMember) -> Member:
    place = member.user_endpoint
    return Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if place is None else Endpoint(host=place.host, port=place.port),
        client_tags=tuple(KeyValue(key=key, value=text) for key, text in member.client_tags.items()),
        assignment=_shown(member.assigned.without_epochs),
        target_assignment=_shown(group.target_of(member.member_id)),
    )


def _shown(target: Target) -> Assignment:
    def tasks(some: Tasks) -> tuple[TaskIds, ...]:
        return tuple(TaskIds(subtopology_id=each, partitions=tuple(sorted(some[each]))) for each in sorted(some))

    return Assignment(
        active_tasks=tasks(target.active), standby_tasks=tasks(target.standby), warmup_tasks=tasks(target.warmup)
    )
