"""Groups: list, describe, delete; what they have committed, and to change that.

What only a group's coordinator answers is asked of it; one that moved, or reads its log still, is asked again until
time is up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import Deadline, NotSupported, raise_if
from controller_runtime.admin.group_results import (
    Committed,
    CommittedOffset,
    GroupDescription,
    GroupListing,
    GroupMember,
    TopicPartition,
)
from controller_runtime.admin.results import NodeDescription
from controller_runtime.identifiers import ZERO_UUID, Endpoint, NodeId
from controller_runtime.protocol.api_errors import ApiError, error_for
from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_describe_response import Assignment as ModernAssignment
from controller_runtime.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
)
from controller_runtime.protocol.messages.consumer_group_describe_response import DescribedGroup as ModernGroup
from controller_runtime.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_groups_response import DeleteGroupsResponse
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.list_groups_response import ListGroupsResponse
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_commit_response import OffsetCommitResponse
from controller_runtime.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from controller_runtime.protocol.messages.offset_delete_response import OffsetDeleteResponse
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.offset_fetch_response import OffsetFetchResponse

V = TypeVar("V")
PASSING: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
"""Another coordinator, or the same one a little later, says something else."""
_CONSUMER: Final = "consumer"
_NO_MEMBER_TYPE: Final = -1
_UPGRADED: Final = 1


class NotConsumers(Exception):
    """The group is none of consumers: what its members have nobody can read."""


async def list_groups(
    admin: AdminClient, states: Iterable[str] = (), types: Iterable[str] = ()
) -> tuple[GroupListing, ...]:
    """Of all brokers; filters are the brokers'. Raises ApiError."""
    wanted = ListGroupsRequest(states_filter=tuple(states), types_filter=tuple(types))
    cluster = await admin.describe_cluster()
    found: dict[str, GroupListing] = {}
    for node in cluster.nodes:
        answer = await _until_it_passes(admin, wanted, node.node_id)
        for each in answer.groups:
            listing = GroupListing(each.group_id, each.protocol_type, each.group_state or None, each.group_type or None)
            found[each.group_id] = listing
    return tuple(found.values())


async def _until_it_passes(admin: AdminClient, wanted: ListGroupsRequest, node: NodeId) -> ListGroupsResponse:
    deadline = Deadline(admin.timeout_seconds)
    while True:
        answer = await admin.ask(wanted, ListGroupsResponse, node=node, timeout_seconds=deadline.left)
        if answer.error_code not in PASSING or not await deadline.pause():
            raise_if(answer.error_code)
            return answer


async def describe_groups(
    admin: AdminClient, group_ids: Iterable[str]
) -> Mapping[str, GroupDescription | ApiError | NotConsumers]:
    """Groups of consumers of both protocols: each is asked for as one of the consumer protocol first."""

    async def ask(node: NodeDescription, group_id: str, seconds: float) -> GroupDescription | ApiError | NotConsumers:
        modern = ConsumerGroupDescribeRequest(group_ids=(group_id,))
        try:
            found = await admin.ask(modern, ConsumerGroupDescribeResponse, node=node.node_id, timeout_seconds=seconds)
        except NotSupported:
            pass
        else:
            group = found.groups[0]
            if group.error_code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
                return error_for(group.error_code, group.error_message) or _modern(group, node)
        classic = DescribeGroupsRequest(groups=(group_id,))
        answer = await admin.ask(classic, DescribeGroupsResponse, node=node.node_id, timeout_seconds=seconds)
        described = answer.groups[0]
        error = error_for(described.error_code, described.error_message)
        return error or _classic(described, node)

    return await _of_coordinators(admin, group_ids, ask)


def _modern(group: ModernGroup, coordinator: NodeDescription) -> GroupDescription:
    members = tuple(
        GroupMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            _assigned(each.assignment),
            target=_assigned(each.target_assignment),
            epoch=each.member_epoch,
            is_upgraded=None if each.member_type == _NO_MEMBER_TYPE else each.member_type == _UPGRADED,
        )
        for each in group.members
    )
    return GroupDescription(
        group.group_id,
        group.group_state,
        group.assignor_name,
        coordinator,
        members,
        epoch=group.group_epoch,
        target_epoch=group.assignment_epoch,
    )


def _assigned(assignment: ModernAssignment) -> tuple[TopicPartition, ...]:
    return tuple((topic.topic_name, index) for topic in assignment.topic_partitions for index in topic.partitions)


def _classic(group: DescribedGroup, coordinator: NodeDescription) -> GroupDescription | NotConsumers:
    if group.protocol_type not in (_CONSUMER, ""):
        return NotConsumers(f"GroupId {group.group_id} is not a consumer group ({group.protocol_type}).")
    members = tuple(
        GroupMember(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            _decoded(each.member_assignment),
        )
        for each in group.members
    )
    return GroupDescription(group.group_id, group.group_state, group.protocol_data, coordinator, members)


def _decoded(assignment: bytes) -> tuple[TopicPartition, ...]:
    """What cannot be read says nothing."""
    if len(assignment) < 2:
        return ()
    version = min(int.from_bytes(assignment[:2], "big"), ConsumerProtocolAssignment.VERSIONS.highest)
    try:
        found = decode_prefix(ConsumerProtocolAssignment, assignment, version, 2)[0]
    except ProtocolError:
        return ()
    return tuple((topic.topic, index) for topic in found.assigned_partitions for index in topic.partitions)


async def delete_groups(admin: AdminClient, group_ids: Iterable[str]) -> Mapping[str, ApiError | None]:
    """None where it worked, else why not."""

    async def ask(node: NodeDescription, group_id: str, seconds: float) -> ApiError | None:
        request = DeleteGroupsRequest(groups_names=(group_id,))
        found = await admin.ask(request, DeleteGroupsResponse, node=node.node_id, timeout_seconds=seconds)
        return error_for(found.results[0].error_code)

    return await _of_coordinators(admin, group_ids, ask)


async def committed_offsets(admin: AdminClient, group_id: str) -> Committed:
    """Everything that it has committed for topics that are there. Raises ApiError."""
    names = {topic.topic_id: topic.name for topic in await admin.listed_topics()}

    async def ask(node: NodeDescription, group_id: str, seconds: float) -> OffsetFetchResponse | ApiError:
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),))
        found = await admin.ask(request, OffsetFetchResponse, node=node.node_id, timeout_seconds=seconds)
        codes = [each.error_code for topic in found.groups[0].topics for each in topic.partitions]
        return error_for(found.groups[0].error_code or max(codes, default=0)) or found

    answer = (await _of_coordinators(admin, [group_id], ask))[group_id]
    if isinstance(answer, ApiError):
        raise answer
    committed: dict[TopicPartition, CommittedOffset] = {}
    for topic in answer.groups[0].topics:
        name = topic.name or names.get(topic.topic_id)
        for each in topic.partitions if name else ():
            if each.committed_offset >= 0:
                epoch = each.committed_leader_epoch
                found = CommittedOffset(each.committed_offset, epoch if epoch >= 0 else None)
                committed[name or "", each.partition_index] = found
    return committed


async def commit_offsets(
    admin: AdminClient, group_id: str, wanted: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, ApiError | None]:
    """For a group without members. None where it worked. Raises ApiError when nothing did."""
    known = {topic.name: topic.topic_id for topic in await admin.listed_topics()}
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, index), offset in wanted.items():
        one = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        topics.setdefault(topic, []).append(one)
    asked = tuple(
        OffsetCommitRequestTopic(name=name, topic_id=known.get(name, ZERO_UUID), partitions=tuple(each))
        for name, each in topics.items()
    )
    request = OffsetCommitRequest(group_id=group_id, topics=asked)

    async def ask(node: NodeDescription, _: str, seconds: float) -> OffsetCommitResponse | ApiError:
        found = await admin.ask(request, OffsetCommitResponse, node=node.node_id, timeout_seconds=seconds)
        codes = {each.error_code for topic in found.topics for each in topic.partitions}
        passing = next((code for code in codes if code in PASSING), 0)
        return error_for(passing) or found

    answer = (await _of_coordinators(admin, [group_id], ask))[group_id]
    if isinstance(answer, ApiError):
        raise answer
    names = {topic_id: name for name, topic_id in known.items()}
    return {
        (topic.name or names.get(topic.topic_id, ""), each.partition_index): error_for(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


async def delete_offsets(
    admin: AdminClient, group_id: str, wanted: Sequence[TopicPartition]
) -> Mapping[TopicPartition, ApiError | None]:
    """None where it worked. Raises ApiError when the group refuses."""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, index in wanted:
        topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=index))
    asked = tuple(OffsetDeleteRequestTopic(name=name, partitions=tuple(each)) for name, each in topics.items())
    request = OffsetDeleteRequest(group_id=group_id, topics=asked)

    async def ask(node: NodeDescription, _: str, seconds: float) -> OffsetDeleteResponse | ApiError:
        found = await admin.ask(request, OffsetDeleteResponse, node=node.node_id, timeout_seconds=seconds)
        return error_for(found.error_code) or found

    answer = (await _of_coordinators(admin, [group_id], ask))[group_id]
    if isinstance(answer, ApiError):
        raise answer
    return {
        (topic.name, each.partition_index): error_for(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


# Coordinators.


async def _of_coordinators(
    admin: AdminClient,
    group_ids: Iterable[str],
    ask: Callable[[NodeDescription, str, float], Awaitable[V | ApiError]],
) -> Mapping[str, V | ApiError]:
    """Each group is asked of its own coordinator, one after the other."""
    deadline = Deadline(admin.timeout_seconds)
    answers: dict[str, V | ApiError] = {}
    for group_id in group_ids:
        while True:
            found = await _coordinator(admin, group_id, deadline)
            answer = found if isinstance(found, ApiError) else await ask(found, group_id, deadline.left)
            if not (isinstance(answer, ApiError) and answer.code in PASSING) or not await deadline.pause():
                break
        answers[group_id] = answer
    return answers


async def _coordinator(admin: AdminClient, group_id: str, deadline: Deadline) -> NodeDescription | ApiError:
    request = FindCoordinatorRequest(coordinator_keys=(group_id,))
    found = await admin.ask(request, FindCoordinatorResponse, timeout_seconds=deadline.left)
    each = found.coordinators[0]
    error = error_for(each.error_code, each.error_message or None)
    return error or NodeDescription(NodeId(each.node_id), Endpoint(each.host, each.port))
