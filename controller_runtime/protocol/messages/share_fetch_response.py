# Generated from ShareFetchResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareFetchResponse: response, key 78, versions 1-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class AcquiredRecords(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    delivery_count: int = field("int16", "0+", default=0)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    acknowledge_error_code: int = field("int16", "0+", default=0)
    acknowledge_error_message: str | None = field("string", "0+", default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "0+", default=default_of(LeaderIdAndEpoch))
    records: bytes | None = field("records", "0+", default=b"", nullable="0")
    acquired_records: tuple[AcquiredRecords, ...] = field([AcquiredRecords], "0+", default=())


class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "0+", default=0)
    host: str = field("string", "0+", default="")
    port: int = field("int32", "0+", default=0)
    rack: str | None = field("string", "0+", default=None, nullable="0+")


class ShareFetchResponse(Message, kind="response", valid="1-2", flexible="0+", key=78):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field("int32", "1+", default=0)
    responses: tuple[ShareFetchableTopicResponse, ...] = field([ShareFetchableTopicResponse], "0+", default=())
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "0+", default=())
