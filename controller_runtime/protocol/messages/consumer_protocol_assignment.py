# Generated from ConsumerProtocolAssignment in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerProtocolAssignment: data, versions 0-3, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartition(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ConsumerProtocolAssignment(Message, kind="data", valid="0-3", flexible="none"):
    assigned_partitions: tuple[TopicPartition, ...] = field([TopicPartition], "0+", default=())
    user_data: bytes | None = field("bytes", "0+", default=None, nullable="0+")
