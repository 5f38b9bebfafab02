# Generated from BeginQuorumEpochRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BeginQuorumEpochRequest: request, key 53, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID, ignorable=True)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class LeaderEndpoint(Struct):
    name: str = field("string", "1+", default="")
    host: str = field("string", "1+", default="")
    port: int = field("uint16", "1+", default=0)


class BeginQuorumEpochRequest(Message, kind="request", valid="0-1", flexible="1+", key=53, listeners=("controller",)):
    cluster_id: str | None = field("string", "0+", default=None, nullable="0+")
    voter_id: int = field("int32", "1+", default=-1, ignorable=True)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
    leader_endpoints: tuple[LeaderEndpoint, ...] = field([LeaderEndpoint], "1+", default=(), ignorable=True)
