"""DescribeTopicPartitions (KIP-966): topics in name order, page by page, with their eligible leader replicas."""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.cluster_view import INTERNAL_TOPICS, View, name_fault, offline_replicas, shown_leader
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from controller_runtime.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

MAX_PARTITIONS: Final = 2000
"""In one answer: Kafka's `max.request.partition.size.limit`."""


def describe_topic_partitions(view: View, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """The answer from the cursor on, until the limit; `next_cursor` says where the next page begins."""
    left = max(1, min(request.response_partition_limit, MAX_PARTITIONS))
    begin = ("", 0) if request.cursor is None else (request.cursor.topic_name, request.cursor.partition_index)
    names = sorted({topic.name for topic in request.topics} or {topic.name for topic in view.image.topics})
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if name < begin[0]:
            continue
        topic = view.image.topics.named(name)
        if topic is None:
            if request.topics:
                topics.append(_missing(name))
            continue
        first = begin[1] if name == begin[0] else 0
        if left == 0:
            return _page(topics, Cursor(topic_name=name, partition_index=first))
        shown = [(index, partition) for index, partition in topic.partitions() if index >= first]
        topics.append(_topic(view, topic, shown[:left]))
        if len(shown) > left:
            return _page(topics, Cursor(topic_name=name, partition_index=shown[left][0]))
        left -= len(shown)
    return _page(topics, None)


def _page(topics: list[DescribeTopicPartitionsResponseTopic], cursor: Cursor | None) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=cursor)


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = name_fault(name) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS)


def _topic(
    view: View, topic: TopicImage, partitions: list[tuple[int, Partition]]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(_partition(view, index, partition) for index, partition in partitions),
    )


def _partition(view: View, index: int, partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    leader, error = shown_leader(view, partition)
    return DescribeTopicPartitionsResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=partition.last_known_elr,
        offline_replicas=offline_replicas(view, partition),
    )
