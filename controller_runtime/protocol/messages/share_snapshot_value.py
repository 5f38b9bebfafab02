# Generated from ShareSnapshotValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareSnapshotValue: coordinator-value, key 0, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class StateBatch(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    delivery_state: int = field("int8", "0+", default=0)
    delivery_count: int = field("int16", "0+", default=0)


class ShareSnapshotValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=0):
    snapshot_epoch: int = field("int32", "0+", default=0)
    state_epoch: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)
    delivery_complete_count: int = field("int32", "0+", default=-1, tag=0, tagged="0+")
    create_timestamp: int = field("int64", "0+", default=0)
    write_timestamp: int = field("int64", "0+", default=0)
    state_batches: tuple[StateBatch, ...] = field([StateBatch], "0+", default=())
