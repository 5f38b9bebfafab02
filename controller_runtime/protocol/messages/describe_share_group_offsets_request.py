# Generated from DescribeShareGroupOffsetsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeShareGroupOffsetsRequest: request, key 90, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = field("string", "0+", default="")
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = field([DescribeShareGroupOffsetsRequestTopic], "0+", default=(), nullable="0+")


class DescribeShareGroupOffsetsRequest(Message, kind="request", valid="0-1", flexible="0+", key=90, listeners=("broker",)):
    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...] = field([DescribeShareGroupOffsetsRequestGroup], "0+", default=())
