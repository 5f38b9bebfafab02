# Generated from ShareGroupStatePartitionMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupStatePartitionMetadataValue: coordinator-value, key 15, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitionsInfo(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class TopicInfo(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topic_name: str = field("string", "0+", default="")


class ShareGroupStatePartitionMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=15):
    initializing_topics: tuple[TopicPartitionsInfo, ...] = field([TopicPartitionsInfo], "0+", default=())
    initialized_topics: tuple[TopicPartitionsInfo, ...] = field([TopicPartitionsInfo], "0+", default=())
    deleting_topics: tuple[TopicInfo, ...] = field([TopicInfo], "0+", default=())
