# Generated from RemotePartitionDeleteMetadataRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemotePartitionDeleteMetadataRecord: data, key 2, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class TopicIdPartitionEntry(Struct):
    name: str = field("string", "0+", default="")
    id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partition: int = field("int32", "0+", default=0)


class RemotePartitionDeleteMetadataRecord(Message, kind="data", valid="0", flexible="0+", key=2):
    topic_id_partition: TopicIdPartitionEntry = field(TopicIdPartitionEntry, "0+", default=default_of(TopicIdPartitionEntry))
    broker_id: int = field("int32", "0+", default=0)
    event_timestamp_ms: int = field("int64", "0+", default=0)
    remote_partition_delete_state: int = field("int8", "0+", default=0)
