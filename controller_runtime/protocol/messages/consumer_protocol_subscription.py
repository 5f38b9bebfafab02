# Generated from ConsumerProtocolSubscription in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerProtocolSubscription: data, versions 0-3, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartition(Struct):
    topic: str = field("string", "1+", default="")
    partitions: tuple[int, ...] = field(["int32"], "1+", default=())


class ConsumerProtocolSubscription(Message, kind="data", valid="0-3", flexible="none"):
    topics: tuple[str, ...] = field(["string"], "0+", default=())
    user_data: bytes | None = field("bytes", "0+", default=None, nullable="0+")
    owned_partitions: tuple[TopicPartition, ...] = field([TopicPartition], "1+", default=(), ignorable=True)
    generation_id: int = field("int32", "2+", default=-1, ignorable=True)
    rack_id: str | None = field("string", "3+", default=None, nullable="3+", ignorable=True)
