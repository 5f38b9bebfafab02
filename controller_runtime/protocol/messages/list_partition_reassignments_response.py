# Generated from ListPartitionReassignmentsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListPartitionReassignmentsResponse: response, key 46, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class OngoingPartitionReassignment(Struct):
    partition_index: int = field("int32", "0+", default=0)
    replicas: tuple[int, ...] = field(["int32"], "0+", default=())
    adding_replicas: tuple[int, ...] = field(["int32"], "0+", default=())
    removing_replicas: tuple[int, ...] = field(["int32"], "0+", default=())


class OngoingTopicReassignment(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[OngoingPartitionReassignment, ...] = field([OngoingPartitionReassignment], "0+", default=())


class ListPartitionReassignmentsResponse(Message, kind="response", valid="0", flexible="0+", key=46):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    topics: tuple[OngoingTopicReassignment, ...] = field([OngoingTopicReassignment], "0+", default=())
