"""What `error_responses` has for requests that only brokers serve, and that answer more than an error at the top.

Imported when the first such request fails: a controller never needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from controller_runtime.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from controller_runtime.protocol.messages.delete_records_request import DeleteRecordsRequest
from controller_runtime.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from controller_runtime.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from controller_runtime.protocol.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsRequest
from controller_runtime.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from controller_runtime.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from controller_runtime.protocol.schema import Message


def _produce(request: ProduceRequest, error: int) -> Message:
    topics = tuple(
        TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=tuple(
                PartitionProduceResponse(index=it.index, error_code=error, base_offset=-1)
                for it in topic.partition_data
            ),
        )
        for topic in request.topic_data
    )
    return ProduceResponse(responses=topics)


def _metadata(request: MetadataRequest, error: int) -> Message:
    topics = tuple(
        MetadataResponseTopic(name=it.name, topic_id=it.topic_id, error_code=error) for it in request.topics or ()
    )
    return MetadataResponse(error_code=error, topics=topics)


def _list_offsets(request: ListOffsetsRequest, error: int) -> Message:
    topics = tuple(
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=tuple(
                ListOffsetsPartitionResponse(partition_index=it.partition_index, error_code=error)
                for it in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return ListOffsetsResponse(topics=topics)


def _epoch_ends(request: OffsetForLeaderEpochRequest, error: int) -> Message:
    topics = tuple(
        OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=tuple(EpochEndOffset(partition=it.partition, error_code=error) for it in topic.partitions),
        )
        for topic in request.topics
    )
    return OffsetForLeaderEpochResponse(topics=topics)


def _topic_partitions(request: DescribeTopicPartitionsRequest, error: int) -> Message:
    topics = tuple(DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error) for topic in request.topics)
    return DescribeTopicPartitionsResponse(topics=topics)


def _delete_records(request: DeleteRecordsRequest, error: int) -> Message:
    topics = tuple(
        DeleteRecordsTopicResult(
            name=topic.name,
            partitions=tuple(
                DeleteRecordsPartitionResult(partition_index=it.partition_index, low_watermark=-1, error_code=error)
                for it in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return DeleteRecordsResponse(topics=topics)


def _alter_replica_log_dirs(request: AlterReplicaLogDirsRequest, error: int) -> Message:
    results = tuple(
        AlterReplicaLogDirTopicResult(
            topic_name=topic.name,
            partitions=tuple(
                AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error) for index in topic.partitions
            ),
        )
        for directory in request.dirs
        for topic in directory.topics
    )
    return AlterReplicaLogDirsResponse(results=results)


def _init_producer_id(_: InitProducerIdRequest, error: int) -> Message:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


SHAPES: Final[dict[str, Callable[[Any, int], Message]]] = {
    "ProduceRequest": _produce,
    "MetadataRequest": _metadata,
    "ListOffsetsRequest": _list_offsets,
    "OffsetForLeaderEpochRequest": _epoch_ends,
    "DescribeTopicPartitionsRequest": _topic_partitions,
    "DeleteRecordsRequest": _delete_records,
    "AlterReplicaLogDirsRequest": _alter_replica_log_dirs,
    "InitProducerIdRequest": _init_producer_id,
}
