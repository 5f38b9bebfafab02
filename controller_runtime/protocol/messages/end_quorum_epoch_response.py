# Generated from EndQuorumEpochResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndQuorumEpochResponse: response, key 54, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "1+", default=0)
    host: str = field("string", "1+", default="")
    port: int = field("uint16", "1+", default=0)


class EndQuorumEpochResponse(Message, kind="response", valid="0-1", flexible="1+", key=54):
    error_code: int = field("int16", "0+", default=0)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "1+", default=(), tag=0, tagged="1+")
