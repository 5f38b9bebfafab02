# Generated from ProduceRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ProduceRequest: request, key 0, versions 3-13, flexible 9+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionProduceData(Struct):
    index: int = field("int32", "0+", default=0)
    records: bytes | None = field("records", "0+", default=b"", nullable="0+")


class TopicProduceData(Struct):
    name: str = field("string", "0-12", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "13+", default=ZERO_UUID, ignorable=True)
    partition_data: tuple[PartitionProduceData, ...] = field([PartitionProduceData], "0+", default=())


class ProduceRequest(Message, kind="request", valid="3-13", flexible="9+", key=0, listeners=("broker",)):
    transactional_id: str | None = field("string", "3+", default=None, nullable="3+")
    acks: int = field("int16", "0+", default=0)
    timeout_ms: int = field("int32", "0+", default=0)
    topic_data: tuple[TopicProduceData, ...] = field([TopicProduceData], "0+", default=())
