# Generated from WriteShareGroupStateRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""WriteShareGroupStateRequest: request, key 85, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class StateBatch(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    delivery_state: int = field("int8", "0+", default=0)
    delivery_count: int = field("int16", "0+", default=0)


class PartitionData(Struct):
    partition: int = field("int32", "0+", default=0)
    state_epoch: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)
    delivery_complete_count: int = field("int32", "1+", default=-1, ignorable=True)
    state_batches: tuple[StateBatch, ...] = field([StateBatch], "0+", default=())


class WriteStateData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class WriteShareGroupStateRequest(Message, kind="request", valid="0-1", flexible="0+", key=85, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[WriteStateData, ...] = field([WriteStateData], "0+", default=())
