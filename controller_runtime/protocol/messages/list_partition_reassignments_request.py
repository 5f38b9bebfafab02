# Generated from ListPartitionReassignmentsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListPartitionReassignmentsRequest: request, key 46, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ListPartitionReassignmentsTopics(Struct):
    name: str = field("string", "0+", default="")
    partition_indexes: tuple[int, ...] = field(["int32"], "0+", default=())


class ListPartitionReassignmentsRequest(Message, kind="request", valid="0", flexible="0+", key=46, listeners=("broker", "controller")):
    timeout_ms: int = field("int32", "0+", default=60000)
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None = field([ListPartitionReassignmentsTopics], "0+", default=None, nullable="0+")
