"""DescribeTopicPartitions (KIP-966): topics in name order, page by page, with their eligible leader replicas."""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.cluster_view import INTERNAL_TOPICS, View, name_fault, offline_replicas, shown_leader
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_TOPIC
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


def describe_topic_partitions(
    view: View, request: DescribeTopicPartitionsRequest
) -> InPieces[BrokerEffect, DescribeTopicPartitionsResponse]:
    """The answer from the cursor on, until the limit; `next_cursor` says where the next page begins."""
    if fault := fault_of(request):
        return _refused(request, fault)
    begin = Cursor() if request.cursor is None else request.cursor
    left = max(1, min(request.response_partition_limit, MAX_PARTITIONS))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in (yield from _names(view, request, begin.topic_name)):
        if left == 0:
            return _page(topics, Cursor(topic_name=name))
        topic = view.image.topics.named(name)
        if topic is None:
            topics.append(_missing(name))
            yield None
            continue
        first = begin.partition_index if name == begin.topic_name else 0
        shown, following = yield from _shown(view, topic, first, left)
        topics.append(_topic(topic, shown))
        if following is not None:
            return _page(topics, Cursor(topic_name=name, partition_index=following))
        left -= len(shown)
    return _page(topics, None)


def fault_of(request: DescribeTopicPartitionsRequest) -> ErrorCode | None:
    """Why the whole request is refused: a cursor that no answer of ours gave, or a topic without a name."""
    names, cursor = [topic.name for topic in request.topics], request.cursor
    if cursor is None:
        return (
            ErrorCode.UNKNOWN_SERVER_ERROR if "" in names else None
        )  # Kafka looks for the cursor of a topic without a name
    if cursor.partition_index < 0 or (names and cursor.topic_name not in names):
        return ErrorCode.INVALID_REQUEST
    return None


def _refused(request: DescribeTopicPartitionsRequest, error: ErrorCode) -> DescribeTopicPartitionsResponse:
    topics = tuple(DescribeTopicPartitionsResponseTopic(error_code=error, name=topic.name) for topic in request.topics)
    return DescribeTopicPartitionsResponse(topics=topics)


def _page(topics: list[DescribeTopicPartitionsResponseTopic], cursor: Cursor | None) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=cursor)


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = name_fault(name) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(
        error_code=error, name=name, is_internal=name in INTERNAL_TOPICS, topic_authorized_operations=ALL_OF_TOPIC
    )


def _names(view: View, request: DescribeTopicPartitionsRequest, begin: str) -> InPieces[BrokerEffect, list[str]]:
    """In order, from the cursor's on."""
    found: set[str] = set()
    for name in {topic.name for topic in request.topics} or view.image.topics.ids:
        if name >= begin:
            found.add(name)
        yield None
    return sorted(found)


def _shown(
    view: View, topic: TopicImage, first: int, at_most: int
) -> InPieces[BrokerEffect, tuple[list[DescribeTopicPartitionsResponsePartition], int | None]]:
    """Partitions from `first` on, and the index of the one that follows them."""
    shown: list[DescribeTopicPartitionsResponsePartition] = []
    for index, partition in topic.partitions():
        if index >= first:
            if len(shown) == at_most:
                return shown, index
            shown.append(_partition(view, index, partition))
        yield None
    return shown, None


def _topic(
    topic: TopicImage, partitions: list[DescribeTopicPartitionsResponsePartition]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(partitions),
        topic_authorized_operations=ALL_OF_TOPIC,
    )


def _partition(view: View, index: int, partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    leader, _ = shown_leader(view, partition)  # Kafka says no error here, other than in Metadata.
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=partition.last_known_elr,
        offline_replicas=offline_replicas(view, partition),
    )
