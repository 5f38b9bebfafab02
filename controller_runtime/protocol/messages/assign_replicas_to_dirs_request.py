# Generated from AssignReplicasToDirsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AssignReplicasToDirsRequest: request, key 73, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class DirectoryData(Struct):
    id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())


class AssignReplicasToDirsRequest(Message, kind="request", valid="0", flexible="0+", key=73, listeners=("controller",)):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
    directories: tuple[DirectoryData, ...] = field([DirectoryData], "0+", default=())
