# Generated from ReadShareGroupStateResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ReadShareGroupStateResponse: response, key 84, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class StateBatch(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    delivery_state: int = field("int8", "0+", default=0)
    delivery_count: int = field("int16", "0+", default=0)


class PartitionResult(Struct):
    partition: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    state_epoch: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)
    state_batches: tuple[StateBatch, ...] = field([StateBatch], "0+", default=())


class ReadStateResult(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionResult, ...] = field([PartitionResult], "0+", default=())


class ReadShareGroupStateResponse(Message, kind="response", valid="0", flexible="0+", key=84):
    results: tuple[ReadStateResult, ...] = field([ReadStateResult], "0+", default=())
