# Generated from DescribeTopicPartitionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeTopicPartitionsRequest: request, key 75, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicRequest(Struct):
    name: str = field("string", "0+", default="")


class Cursor(Struct):
    topic_name: str = field("string", "0+", default="")
    partition_index: int = field("int32", "0+", default=0)


class DescribeTopicPartitionsRequest(Message, kind="request", valid="0", flexible="0+", key=75, listeners=("broker",)):
    topics: tuple[TopicRequest, ...] = field([TopicRequest], "0+", default=())
    response_partition_limit: int = field("int32", "0+", default=2000)
    cursor: Cursor | None = field(Cursor, "0+", default=None, nullable="0+")
