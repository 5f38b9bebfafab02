# Generated from AlterShareGroupOffsetsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterShareGroupOffsetsRequest: request, key 91, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...] = field([AlterShareGroupOffsetsRequestPartition], "0+", default=())


class AlterShareGroupOffsetsRequest(Message, kind="request", valid="0", flexible="0+", key=91, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...] = field([AlterShareGroupOffsetsRequestTopic], "0+", default=())
