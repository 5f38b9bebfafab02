# Generated from DescribeShareGroupOffsetsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeShareGroupOffsetsResponse: response, key 90, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    lag: int = field("int64", "1+", default=-1, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field("string", "0+", default="")
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...] = field([DescribeShareGroupOffsetsResponsePartition], "0+", default=())


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = field("string", "0+", default="")
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = field([DescribeShareGroupOffsetsResponseTopic], "0+", default=())
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class DescribeShareGroupOffsetsResponse(Message, kind="response", valid="0-1", flexible="0+", key=90):
    throttle_time_ms: int = field("int32", "0+", default=0)
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...] = field([DescribeShareGroupOffsetsResponseGroup], "0+", default=())
