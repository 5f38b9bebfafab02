# Generated from DescribeQuorumRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeQuorumRequest: request, key 55, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class DescribeQuorumRequest(Message, kind="request", valid="0-2", flexible="0+", key=55, listeners=("broker", "controller")):
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
