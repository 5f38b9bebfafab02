"""DescribeProducers: who has written to a partition that is led here, and whose transaction is open."""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.topic_names import fault_of
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_producers_request import DescribeProducersRequest
from controller_runtime.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

_UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."


def describe_producers(
    partitions: LocalPartitions, request: DescribeProducersRequest
) -> InPieces[BrokerEffect, DescribeProducersResponse]:
    topics: list[TopicResponse] = []
    for topic in request.topics:
        answers: list[PartitionResponse] = []
        for index in topic.partition_indexes:
            yield None
            answers.append((yield from _described(partitions, topic.name, index)))
        topics.append(TopicResponse(name=topic.name, partitions=tuple(answers)))
    return DescribeProducersResponse(topics=tuple(topics))


def _described(partitions: LocalPartitions, topic: str, index: int) -> InPieces[BrokerEffect, PartitionResponse]:
    if (fault := fault_of(topic)) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return PartitionResponse(partition_index=index, error_code=code, error_message=fault)
    found = partitions.find(topic, ZERO_UUID, index)
    if isinstance(found, ErrorCode):
        words = _UNKNOWN_TOPIC if partitions.image.topics.named(topic) is None else None
        return PartitionResponse(partition_index=index, error_code=found, error_message=words)
    producers: list[ProducerState] = []
    for entry in list(found.log.producers.values()):
        yield None
        producers.append(
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_first_offset,
            )
        )
    return PartitionResponse(partition_index=index, active_producers=tuple(producers))
