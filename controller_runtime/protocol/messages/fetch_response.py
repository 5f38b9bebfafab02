# Generated from FetchResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FetchResponse: response, key 1, versions 4-18, flexible 12+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class EpochEndOffset(Struct):
    epoch: int = field("int32", "12+", default=-1)
    end_offset: int = field("int64", "12+", default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", "12+", default=-1)
    leader_epoch: int = field("int32", "12+", default=-1)


class SnapshotId(Struct):
    end_offset: int = field("int64", "0+", default=-1)
    epoch: int = field("int32", "0+", default=-1)


class AbortedTransaction(Struct):
    producer_id: int = field("int64", "4+", default=0)
    first_offset: int = field("int64", "4+", default=0)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    high_watermark: int = field("int64", "0+", default=0)
    last_stable_offset: int = field("int64", "4+", default=-1, ignorable=True)
    log_start_offset: int = field("int64", "5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, "12+", default=default_of(EpochEndOffset), tag=0, tagged="12+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "12+", default=default_of(LeaderIdAndEpoch), tag=1, tagged="12+")
    snapshot_id: SnapshotId = field(SnapshotId, "12+", default=default_of(SnapshotId), tag=2, tagged="12+")
    aborted_transactions: tuple[AbortedTransaction, ...] | None = field([AbortedTransaction], "4+", default=(), nullable="4+", ignorable=True)
    preferred_read_replica: int = field("int32", "11+", default=-1)
    records: bytes | None = field("records", "0+", default=b"", nullable="0+")


class FetchableTopicResponse(Struct):
    topic: str = field("string", "0-12", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "16+", default=0)
    host: str = field("string", "16+", default="")
    port: int = field("int32", "16+", default=0)
    rack: str | None = field("string", "16+", default=None, nullable="16+")


class FetchResponse(Message, kind="response", valid="4-18", flexible="12+", key=1):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "7+", default=0, ignorable=True)
    session_id: int = field("int32", "7+", default=0)
    responses: tuple[FetchableTopicResponse, ...] = field([FetchableTopicResponse], "0+", default=())
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "16+", default=(), tag=0, tagged="16+")
