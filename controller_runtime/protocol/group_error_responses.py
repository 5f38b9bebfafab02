"""What `error_responses` has for requests about groups: one error for everything that they name.

Imported when the first such request fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from controller_runtime.protocol.messages.consumer_group_describe_response import (
    DescribedGroup as DescribedConsumerGroup,
)
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from controller_runtime.protocol.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from controller_runtime.protocol.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
)
from controller_runtime.protocol.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponseGroup as DescribedShareOffsets,
)
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest
from controller_runtime.protocol.messages.join_group_response import JoinGroupResponse
from controller_runtime.protocol.messages.offset_commit_request import OffsetCommitRequest
from controller_runtime.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest
from controller_runtime.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_describe_response import DescribedGroup as DescribedShareGroup
from controller_runtime.protocol.messages.share_group_describe_response import ShareGroupDescribeResponse
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_describe_response import DescribedGroup as DescribedStreamsGroup
from controller_runtime.protocol.messages.streams_group_describe_response import StreamsGroupDescribeResponse
from controller_runtime.protocol.schema import Message


def _find(request: FindCoordinatorRequest, error: int) -> Message:
    """Versions that ask for one key have the error at the top, those that ask for several in each of them."""
    if request.key:
        return FindCoordinatorResponse(error_code=error, node_id=-1, host="", port=-1)
    keys = request.coordinator_keys
    nobody = (Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error) for key in keys)
    return FindCoordinatorResponse(coordinators=tuple(nobody))


def _join(request: JoinGroupRequest, error: int) -> Message:
    return JoinGroupResponse(error_code=error, member_id=request.member_id)


def _commit(request: OffsetCommitRequest, error: int) -> Message:
    topics = tuple(
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(
                OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                for each in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return OffsetCommitResponse(topics=topics)


def _fetch(request: OffsetFetchRequest, error: int) -> Message:
    groups = tuple(OffsetFetchResponseGroup(group_id=each.group_id, error_code=error) for each in request.groups)
    topics = tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, metadata="", error_code=error)
                for index in topic.partition_indexes
            ),
        )
        for topic in request.topics or ()
    )
    return OffsetFetchResponse(error_code=error, groups=groups, topics=topics)


def _describe(request: DescribeGroupsRequest, error: int) -> Message:
    return DescribeGroupsResponse(
        groups=tuple(DescribedGroup(group_id=each, error_code=error) for each in request.groups)
    )


def _describe_consumers(request: ConsumerGroupDescribeRequest, error: int) -> Message:
    groups = tuple(DescribedConsumerGroup(group_id=each, error_code=error) for each in request.group_ids)
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe_sharers(request: ShareGroupDescribeRequest, error: int) -> Message:
    groups = tuple(DescribedShareGroup(group_id=each, error_code=error) for each in request.group_ids)
    return ShareGroupDescribeResponse(groups=groups)


def _describe_streams(request: StreamsGroupDescribeRequest, error: int) -> Message:
    groups = tuple(DescribedStreamsGroup(group_id=each, error_code=error) for each in request.group_ids)
    return StreamsGroupDescribeResponse(groups=groups)


def _describe_offsets(request: DescribeShareGroupOffsetsRequest, error: int) -> Message:
    groups = (DescribedShareOffsets(group_id=each.group_id, error_code=error) for each in request.groups)
    return DescribeShareGroupOffsetsResponse(groups=tuple(groups))


def _delete(request: DeleteGroupsRequest, error: int) -> Message:
    names = request.groups_names
    return DeleteGroupsResponse(results=tuple(DeletableGroupResult(group_id=each, error_code=error) for each in names))


SHAPES: Final[dict[str, Callable[[Any, int], Message]]] = {
    "FindCoordinatorRequest": _find,
    "JoinGroupRequest": _join,
    "OffsetCommitRequest": _commit,
    "OffsetFetchRequest": _fetch,
    "DescribeGroupsRequest": _describe,
    "DeleteGroupsRequest": _delete,
    "ConsumerGroupDescribeRequest": _describe_consumers,
    "ShareGroupDescribeRequest": _describe_sharers,
    "StreamsGroupDescribeRequest": _describe_streams,
    "DescribeShareGroupOffsetsRequest": _describe_offsets,
}
