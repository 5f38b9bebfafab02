# Generated from DeleteShareGroupStateResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteShareGroupStateResponse: response, key 86, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionResult(Struct):
    partition: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class DeleteStateResult(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionResult, ...] = field([PartitionResult], "0+", default=())


class DeleteShareGroupStateResponse(Message, kind="response", valid="0", flexible="0+", key=86):
    results: tuple[DeleteStateResult, ...] = field([DeleteStateResult], "0+", default=())
