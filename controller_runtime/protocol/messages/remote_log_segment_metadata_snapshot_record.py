# Generated from RemoteLogSegmentMetadataSnapshotRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoteLogSegmentMetadataSnapshotRecord: data, key 3, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class SegmentLeaderEpochEntry(Struct):
    leader_epoch: int = field("int32", "0+", default=0)
    offset: int = field("int64", "0+", default=0)


class RemoteLogSegmentMetadataSnapshotRecord(Message, kind="data", valid="0", flexible="0+", key=3):
    segment_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    start_offset: int = field("int64", "0+", default=0)
    end_offset: int = field("int64", "0+", default=0)
    broker_id: int = field("int32", "0+", default=0)
    max_timestamp_ms: int = field("int64", "0+", default=0)
    event_timestamp_ms: int = field("int64", "0+", default=0)
    segment_leader_epochs: tuple[SegmentLeaderEpochEntry, ...] = field([SegmentLeaderEpochEntry], "0+", default=())
    segment_size_in_bytes: int = field("int32", "0+", default=0)
    custom_metadata: bytes | None = field("bytes", "0+", default=None, nullable="0+")
    remote_log_segment_state: int = field("int8", "0+", default=0)
    txn_index_empty: bool = field("bool", "0+", default=False, tag=0, tagged="0+")
