# Generated from DeleteRecordsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteRecordsRequest: request, key 21, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeleteRecordsPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    offset: int = field("int64", "0+", default=0)


class DeleteRecordsTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[DeleteRecordsPartition, ...] = field([DeleteRecordsPartition], "0+", default=())


class DeleteRecordsRequest(Message, kind="request", valid="0-2", flexible="2+", key=21, listeners=("broker",)):
    topics: tuple[DeleteRecordsTopic, ...] = field([DeleteRecordsTopic], "0+", default=())
    timeout_ms: int = field("int32", "0+", default=0)
