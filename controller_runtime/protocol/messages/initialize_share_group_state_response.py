# Generated from InitializeShareGroupStateResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""InitializeShareGroupStateResponse: response, key 83, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionResult(Struct):
    partition: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class InitializeStateResult(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionResult, ...] = field([PartitionResult], "0+", default=())


class InitializeShareGroupStateResponse(Message, kind="response", valid="0", flexible="0+", key=83):
    results: tuple[InitializeStateResult, ...] = field([InitializeStateResult], "0+", default=())
