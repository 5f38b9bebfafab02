# Generated from DeleteRecordsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteRecordsResponse: response, key 21, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeleteRecordsPartitionResult(Struct):
    partition_index: int = field("int32", "0+", default=0)
    low_watermark: int = field("int64", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class DeleteRecordsTopicResult(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[DeleteRecordsPartitionResult, ...] = field([DeleteRecordsPartitionResult], "0+", default=())


class DeleteRecordsResponse(Message, kind="response", valid="0-2", flexible="2+", key=21):
    throttle_time_ms: int = field("int32", "0+", default=0)
    topics: tuple[DeleteRecordsTopicResult, ...] = field([DeleteRecordsTopicResult], "0+", default=())
