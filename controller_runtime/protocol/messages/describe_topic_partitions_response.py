# Generated from DescribeTopicPartitionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeTopicPartitionsResponse: response, key 75, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = field("int16", "0+", default=0)
    partition_index: int = field("int32", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=-1, ignorable=True)
    replica_nodes: tuple[int, ...] = field(["int32"], "0+", default=())
    isr_nodes: tuple[int, ...] = field(["int32"], "0+", default=())
    eligible_leader_replicas: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+")
    last_known_elr: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+")
    offline_replicas: tuple[int, ...] = field(["int32"], "0+", default=(), ignorable=True)


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = field("int16", "0+", default=0)
    name: str | None = field("string", "0+", default="", nullable="0+")
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = field("bool", "0+", default=False, ignorable=True)
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...] = field([DescribeTopicPartitionsResponsePartition], "0+", default=())
    topic_authorized_operations: int = field("int32", "0+", default=-2147483648)


class Cursor(Struct):
    topic_name: str = field("string", "0+", default="")
    partition_index: int = field("int32", "0+", default=0)


class DescribeTopicPartitionsResponse(Message, kind="response", valid="0", flexible="0+", key=75):
    throttle_time_ms: int = field("int32", "0+", default=0, ignorable=True)
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...] = field([DescribeTopicPartitionsResponseTopic], "0+", default=())
    next_cursor: Cursor | None = field(Cursor, "0+", default=None, nullable="0+")
