"""Topics: create, delete, list, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from controller_runtime.admin.connections import Connections, Deadline, NotSupported, raise_if
from controller_runtime.admin.results import NewTopic, PartitionDescription, TopicDescription
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_errors import ApiError, error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from controller_runtime.protocol.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_SHARE: Final = 0.8
"""Of the caller's time, what the controller may take to commit; the rest is for the way."""


async def create(
    connections: Connections, new: Sequence[NewTopic], deadline: Deadline, *, validate_only: bool
) -> Mapping[str, Uuid | ApiError]:
    request = CreateTopicsRequest(
        topics=tuple(map(_creatable, new)),
        timeout_ms=int(deadline.left * _SHARE * 1000),
        validate_only=validate_only,
    )
    found = await connections.ask_controller(
        request, CreateTopicsResponse, lambda one: _moved([topic.error_code for topic in one.topics]), deadline
    )
    return {topic.name: error_for(topic.error_code, topic.error_message) or topic.topic_id for topic in found.topics}


async def delete(connections: Connections, names: Sequence[str], deadline: Deadline) -> Mapping[str, ApiError | None]:
    request = DeleteTopicsRequest(
        topics=tuple(DeleteTopicState(name=name) for name in names), timeout_ms=int(deadline.left * _SHARE * 1000)
    )
    found = await connections.ask_controller(
        request, DeleteTopicsResponse, lambda one: _moved([topic.error_code for topic in one.responses]), deadline
    )
    return {one.name or "": error_for(one.error_code, one.error_message) for one in found.responses}


async def listing(connections: Connections, deadline: Deadline) -> tuple[TopicDescription, ...]:
    found = await connections.ask_any(
        MetadataRequest(topics=None, allow_auto_topic_creation=False), MetadataResponse, deadline
    )
    raise_if(found.error_code)
    return tuple(_from_metadata(topic) for topic in found.topics if topic.error_code == 0)


async def describe(
    connections: Connections, names: Sequence[str] | None, deadline: Deadline, partitions_at_once: int = 2000
) -> Mapping[str, TopicDescription | ApiError]:
    """By DescribeTopicPartitions, which knows eligible leader replicas; by Metadata where that is not served."""
    try:
        return await _describe_partitions(connections, names, deadline, partitions_at_once)
    except NotSupported:
        asked = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        found = await connections.ask_any(request, MetadataResponse, deadline)
        raise_if(found.error_code)
        return {topic.name or "": error_for(topic.error_code) or _from_metadata(topic) for topic in found.topics}


async def _describe_partitions(
    connections: Connections, names: Sequence[str] | None, deadline: Deadline, partitions_at_once: int
) -> Mapping[str, TopicDescription | ApiError]:
    described: dict[str, TopicDescription | ApiError] = {}
    cursor: Cursor | None = None
    asked = tuple(TopicRequest(name=name) for name in sorted(names or ()))
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=asked, response_partition_limit=partitions_at_once, cursor=cursor
        )
        found = await connections.ask_any(request, DescribeTopicPartitionsResponse, deadline)
        for topic in found.topics:
            name = topic.name or ""
            error = error_for(topic.error_code)
            partitions = tuple(map(_described_partition, topic.partitions))
            before = described.get(name)
            if isinstance(before, TopicDescription):
                partitions = before.partitions + partitions
            described[name] = error or TopicDescription(name, topic.topic_id, topic.is_internal, partitions)
        if found.next_cursor is None:
            return described
        cursor = Cursor(topic_name=found.next_cursor.topic_name, partition_index=found.next_cursor.partition_index)


def _moved(codes: Sequence[int]) -> int:
    """NOT_CONTROLLER when any of the answers says so: then none of them was carried out."""
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in topic.replicas.items()
        ),
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()),
    )


def _from_metadata(topic: MetadataResponseTopic) -> TopicDescription:
    partitions = sorted(topic.partitions, key=lambda one: one.partition_index)
    return TopicDescription(
        topic.name or "", topic.topic_id, topic.is_internal, tuple(map(_metadata_partition, partitions))
    )


def _metadata_partition(one: MetadataResponsePartition) -> PartitionDescription:
    return PartitionDescription(
        index=one.partition_index,
        leader=one.leader_id,
        leader_epoch=one.leader_epoch,
        replicas=one.replica_nodes,
        isr=one.isr_nodes,
        offline_replicas=one.offline_replicas,
    )


def _described_partition(one: DescribeTopicPartitionsResponsePartition) -> PartitionDescription:
    return PartitionDescription(
        index=one.partition_index,
        leader=one.leader_id,
        leader_epoch=one.leader_epoch,
        replicas=one.replica_nodes,
        isr=one.isr_nodes,
        elr=one.eligible_leader_replicas or (),
        last_known_elr=one.last_known_elr or (),
        offline_replicas=one.offline_replicas,
    )
