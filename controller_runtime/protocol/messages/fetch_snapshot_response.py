# Generated from FetchSnapshotResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FetchSnapshotResponse: response, key 59, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, default_of, field


class SnapshotId(Struct):
    end_offset: int = field("int64", "0+", default=0)
    epoch: int = field("int32", "0+", default=0)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class PartitionSnapshot(Struct):
    index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    snapshot_id: SnapshotId = field(SnapshotId, "0+", default=default_of(SnapshotId))
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "0+", default=default_of(LeaderIdAndEpoch), tag=0, tagged="0+")
    size: int = field("int64", "0+", default=0)
    position: int = field("int64", "0+", default=0)
    unaligned_records: bytes = field("records", "0+", default=b"")


class TopicSnapshot(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[PartitionSnapshot, ...] = field([PartitionSnapshot], "0+", default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", "1+", default=0)
    host: str = field("string", "1+", default="")
    port: int = field("uint16", "1+", default=0)


class FetchSnapshotResponse(Message, kind="response", valid="0-1", flexible="0+", key=59):
    throttle_time_ms: int = field("int32", "0+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    topics: tuple[TopicSnapshot, ...] = field([TopicSnapshot], "0+", default=())
    node_endpoints: tuple[NodeEndpoint, ...] = field([NodeEndpoint], "1+", default=(), tag=0, tagged="1+")
