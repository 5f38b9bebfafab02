# Generated from AlterShareGroupOffsetsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterShareGroupOffsetsResponse: response, key 91, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field("string", "0+", default="")
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...] = field([AlterShareGroupOffsetsResponsePartition], "0+", default=())


class AlterShareGroupOffsetsResponse(Message, kind="response", valid="0", flexible="0+", key=91):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = field([AlterShareGroupOffsetsResponseTopic], "0+", default=())
