# Generated from ProduceResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ProduceResponse: response, key 0, versions 3-13, flexible 9+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = field("int32", "8+", default=0)
    batch_index_error_message: str | None = field("string", "8+", default=None, nullable="8+")


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", "10+", default=-1)
    leader_epoch: int = field("int32", "10+", default=-1)


class PartitionProduceResponse(Struct):
    index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    base_offset: int = field("int64", "0+", default=0)
    log_append_time_ms: int = field("int64", "2+", default=-1, ignorable=True)
    log_start_offset: int = field("int64", "5+", default=-1, ignorable=True)
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = field([BatchIndexAndErrorMessage], "8+", default=(), ignorable=True)
    error_message: str | None = field("string", "8+", default=None, nullable="8+", ignorable=True)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "10+", default=default_of(LeaderIdAndEpoch), tag=0, tagged="10+")


class TopicProduceResponse(Struct):
    name: str = field("string", "0-12", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "13+", default=ZERO_UUID, ignorable=True)
    partition_responses: tuple[PartitionProduceResponse, ...] = field([PartitionProduceResponse], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "10+", default=0)
    host: str = field("string", "10+", default="")
    port: int = field("int32", "10+", default=0)
    rack: str | None = field("string", "10+", default=None, nullable="10+")


class ProduceResponse(Message, kind="response", valid="3-13", flexible="9+", key=0):
    responses: tuple[TopicProduceResponse, ...] = field([TopicProduceResponse], "0+", default=())
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "10+", default=(), tag=0, tagged="10+")
