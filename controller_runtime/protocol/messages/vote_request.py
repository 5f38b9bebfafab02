# Generated from VoteRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""VoteRequest: request, key 52, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    replica_epoch: int = field("int32", "0+", default=0)
    replica_id: int = field("int32", "0+", default=0)
    replica_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID, ignorable=True)
    voter_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID, ignorable=True)
    last_offset_epoch: int = field("int32", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    pre_vote: bool = field("bool", "2+", default=False)


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class VoteRequest(Message, kind="request", valid="0-2", flexible="0+", key=52, listeners=("controller",)):
    cluster_id: str | None = field("string", "0+", default=None, nullable="0+")
    voter_id: int = field("int32", "1+", default=-1, ignorable=True)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
