# Generated from InitializeShareGroupStateRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""InitializeShareGroupStateRequest: request, key 83, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition: int = field("int32", "0+", default=0)
    state_epoch: int = field("int32", "0+", default=0)
    start_offset: int = field("int64", "0+", default=0)


class InitializeStateData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class InitializeShareGroupStateRequest(Message, kind="request", valid="0", flexible="0+", key=83, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[InitializeStateData, ...] = field([InitializeStateData], "0+", default=())
