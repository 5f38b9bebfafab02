# Generated from ListOffsetsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListOffsetsResponse: response, key 2, versions 1-11, flexible 6+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    timestamp: int = field("int64", "1+", default=-1)
    offset: int = field("int64", "1+", default=-1)
    leader_epoch: int = field("int32", "4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[ListOffsetsPartitionResponse, ...] = field([ListOffsetsPartitionResponse], "0+", default=())


class ListOffsetsResponse(Message, kind="response", valid="1-11", flexible="6+", key=2):
    throttle_time_ms: int = field("int32", "2+", default=0, ignorable=True)
    topics: tuple[ListOffsetsTopicResponse, ...] = field([ListOffsetsTopicResponse], "0+", default=())
