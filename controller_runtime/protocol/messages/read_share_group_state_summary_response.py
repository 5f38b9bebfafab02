# Generated from ReadShareGroupStateSummaryResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ReadShareGroupStateSummaryResponse: response, key 87, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionResult(Struct):
    partition: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    state_epoch: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)
    delivery_complete_count: int = field("int32", "1+", default=-1, ignorable=True)


class ReadStateSummaryResult(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionResult, ...] = field([PartitionResult], "0+", default=())


class ReadShareGroupStateSummaryResponse(Message, kind="response", valid="0-1", flexible="0+", key=87):
    results: tuple[ReadStateSummaryResult, ...] = field([ReadStateSummaryResult], "0+", default=())
