# Generated from FetchSnapshotRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FetchSnapshotRequest: request, key 59, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class SnapshotId(Struct):
    end_offset: int = field("int64", "0+", default=0)
    epoch: int = field("int32", "0+", default=0)


class PartitionSnapshot(Struct):
    partition: int = field("int32", "0+", default=0)
    current_leader_epoch: int = field("int32", "0+", default=0)
    snapshot_id: SnapshotId = field(SnapshotId, "0+", default=default_of(SnapshotId))
    position: int = field("int64", "0+", default=0)
    replica_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID, tag=0, tagged="1+", ignorable=True)


class TopicSnapshot(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[PartitionSnapshot, ...] = field([PartitionSnapshot], "0+", default=())


class FetchSnapshotRequest(Message, kind="request", valid="0-1", flexible="0+", key=59, listeners=("controller",)):
    cluster_id: str | None = field("string", "0+", default=None, nullable="0+", tag=0, tagged="0+")
    replica_id: int = field("int32", "0+", default=-1)
    max_bytes: int = field("int32", "0+", default=2147483647)
    topics: tuple[TopicSnapshot, ...] = field([TopicSnapshot], "0+", default=())
