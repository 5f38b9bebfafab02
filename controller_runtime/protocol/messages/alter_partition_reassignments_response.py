# Generated from AlterPartitionReassignmentsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterPartitionReassignmentsResponse: response, key 45, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ReassignablePartitionResponse(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")


class ReassignableTopicResponse(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[ReassignablePartitionResponse, ...] = field([ReassignablePartitionResponse], "0+", default=())


class AlterPartitionReassignmentsResponse(Message, kind="response", valid="0-1", flexible="0+", key=45):
    throttle_time_ms: int = field("int32", "0+", default=0)
    allow_replication_factor_change: bool = field("bool", "1+", default=True, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    responses: tuple[ReassignableTopicResponse, ...] = field([ReassignableTopicResponse], "0+", default=())
