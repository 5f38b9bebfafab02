# Generated from ConsumerGroupPartitionMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupPartitionMetadataValue: coordinator-value, key 4, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionMetadata(Struct):
    partition: int = field("int32", "0+", default=0)
    racks: tuple[str, ...] = field(["string"], "0+", default=())


class TopicMetadata(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topic_name: str = field("string", "0+", default="")
    num_partitions: int = field("int32", "0+", default=0)
    partition_metadata: tuple[PartitionMetadata, ...] = field([PartitionMetadata], "0+", default=())


class ConsumerGroupPartitionMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=4):
    topics: tuple[TopicMetadata, ...] = field([TopicMetadata], "0+", default=())
