# Generated from EndQuorumEpochRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndQuorumEpochRequest: request, key 54, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class ReplicaInfo(Struct):
    candidate_id: int = field("int32", "1+", default=0)
    candidate_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    preferred_successors: tuple[int, ...] = field(["int32"], "0", default=(), ignorable=True)
    preferred_candidates: tuple[ReplicaInfo, ...] = field([ReplicaInfo], "1+", default=(), ignorable=True)


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class LeaderEndpoint(Struct):
    name: str = field("string", "1+", default="")
    host: str = field("string", "1+", default="")
    port: int = field("uint16", "1+", default=0)


class EndQuorumEpochRequest(Message, kind="request", valid="0-1", flexible="1+", key=54, listeners=("controller",)):
    cluster_id: str | None = field("string", "0+", default=None, nullable="0+")
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
    leader_endpoints: tuple[LeaderEndpoint, ...] = field([LeaderEndpoint], "1+", default=(), ignorable=True)
