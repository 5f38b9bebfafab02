# Generated from DescribeQuorumResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeQuorumResponse: response, key 55, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class ReplicaState(Struct):
    replica_id: int = field("int32", "0+", default=0)
    replica_directory_id: Uuid = field("uuid", "2+", default=ZERO_UUID)
    log_end_offset: int = field("int64", "0+", default=0)
    last_fetch_timestamp: int = field("int64", "1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = field("int64", "1+", default=-1, ignorable=True)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "2+", default="", nullable="2+", ignorable=True)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    high_watermark: int = field("int64", "0+", default=0)
    current_voters: tuple[ReplicaState, ...] = field([ReplicaState], "0+", default=())
    observers: tuple[ReplicaState, ...] = field([ReplicaState], "0+", default=())


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class Listener(Struct):
    name: str = field("string", "2+", default="")
    host: str = field("string", "2+", default="")
    port: int = field("uint16", "2+", default=0)


class Node(Struct):
    node_id: int = field("int32", "2+", default=0)
    listeners: tuple[Listener, ...] = field([Listener], "2+", default=())


class DescribeQuorumResponse(Message, kind="response", valid="0-2", flexible="0+", key=55):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "2+", default="", nullable="2+", ignorable=True)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
    nodes: tuple[Node, ...] = field([Node], "2+", default=())
