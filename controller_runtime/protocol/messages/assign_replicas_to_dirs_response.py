# Generated from AssignReplicasToDirsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AssignReplicasToDirsResponse: response, key 73, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class TopicData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class DirectoryData(Struct):
    id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())


class AssignReplicasToDirsResponse(Message, kind="response", valid="0", flexible="0+", key=73):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    directories: tuple[DirectoryData, ...] = field([DirectoryData], "0+", default=())
