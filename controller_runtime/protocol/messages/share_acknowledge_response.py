# Generated from ShareAcknowledgeResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareAcknowledgeResponse: response, key 79, versions 1-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "0+", default=default_of(LeaderIdAndEpoch))


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "0+", default=0)
    host: str = field("string", "0+", default="")
    port: int = field("int32", "0+", default=0)
    rack: str | None = field("string", "0+", default=None, nullable="0+")


class ShareAcknowledgeResponse(Message, kind="response", valid="1-2", flexible="0+", key=79):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field("int32", "2+", default=0, ignorable=True)
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = field([ShareAcknowledgeTopicResponse], "0+", default=())
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "0+", default=())
