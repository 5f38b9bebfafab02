# Generated from OffsetDeleteRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetDeleteRequest: request, key 47, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)


class OffsetDeleteRequestTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[OffsetDeleteRequestPartition, ...] = field([OffsetDeleteRequestPartition], "0+", default=())


class OffsetDeleteRequest(Message, kind="request", valid="0", flexible="none", key=47, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[OffsetDeleteRequestTopic, ...] = field([OffsetDeleteRequestTopic], "0+", default=())
