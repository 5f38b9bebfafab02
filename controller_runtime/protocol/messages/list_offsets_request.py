# Generated from ListOffsetsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListOffsetsRequest: request, key 2, versions 1-11, flexible 6+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ListOffsetsPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    current_leader_epoch: int = field("int32", "4+", default=-1, ignorable=True)
    timestamp: int = field("int64", "0+", default=0)


class ListOffsetsTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[ListOffsetsPartition, ...] = field([ListOffsetsPartition], "0+", default=())


class ListOffsetsRequest(Message, kind="request", valid="1-11", flexible="6+", key=2, listeners=("broker",)):
    replica_id: int = field("int32", "0+", default=0)
    isolation_level: int = field("int8", "2+", default=0)
    topics: tuple[ListOffsetsTopic, ...] = field([ListOffsetsTopic], "0+", default=())
    timeout_ms: int = field("int32", "10+", default=0, ignorable=True)
