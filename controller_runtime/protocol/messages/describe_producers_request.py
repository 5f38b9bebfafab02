# Generated from DescribeProducersRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeProducersRequest: request, key 61, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicRequest(Struct):
    name: str = field("string", "0+", default="")
    partition_indexes: tuple[int, ...] = field(["int32"], "0+", default=())


class DescribeProducersRequest(Message, kind="request", valid="0", flexible="0+", key=61, listeners=("broker",)):
    topics: tuple[TopicRequest, ...] = field([TopicRequest], "0+", default=())
