# Generated from OffsetDeleteResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetDeleteResponse: response, key 47, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class OffsetDeleteResponsePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class OffsetDeleteResponseTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[OffsetDeleteResponsePartition, ...] = field([OffsetDeleteResponsePartition], "0+", default=())


class OffsetDeleteResponse(Message, kind="response", valid="0", flexible="none", key=47):
    error_code: int = field("int16", "0+", default=0)
    throttle_time_ms: int = field("int32", "0+", default=0, ignorable=True)
    topics: tuple[OffsetDeleteResponseTopic, ...] = field([OffsetDeleteResponseTopic], "0+", default=())
