# Generated from DescribeProducersResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeProducersResponse: response, key 61, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ProducerState(Struct):
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int32", "0+", default=0)
    last_sequence: int = field("int32", "0+", default=-1)
    last_timestamp: int = field("int64", "0+", default=-1)
    coordinator_epoch: int = field("int32", "0+", default=0)
    current_txn_start_offset: int = field("int64", "0+", default=-1)


class PartitionResponse(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    active_producers: tuple[ProducerState, ...] = field([ProducerState], "0+", default=())


class TopicResponse(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[PartitionResponse, ...] = field([PartitionResponse], "0+", default=())


class DescribeProducersResponse(Message, kind="response", valid="0", flexible="0+", key=61):
    throttle_time_ms: int = field("int32", "0+", default=0)
    topics: tuple[TopicResponse, ...] = field([TopicResponse], "0+", default=())
