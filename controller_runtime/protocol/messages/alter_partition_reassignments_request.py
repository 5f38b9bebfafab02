# Generated from AlterPartitionReassignmentsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterPartitionReassignmentsRequest: request, key 45, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ReassignablePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    replicas: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+")


class ReassignableTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[ReassignablePartition, ...] = field([ReassignablePartition], "0+", default=())


class AlterPartitionReassignmentsRequest(Message, kind="request", valid="0-1", flexible="0+", key=45, listeners=("broker", "controller")):
    timeout_ms: int = field("int32", "0+", default=60000)
    allow_replication_factor_change: bool = field("bool", "1+", default=True)
    topics: tuple[ReassignableTopic, ...] = field([ReassignableTopic], "0+", default=())
