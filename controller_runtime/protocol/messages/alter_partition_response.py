# Generated from AlterPartitionResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterPartitionResponse: response, key 56, versions 2-3, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    isr: tuple[int, ...] = field(["int32"], "0+", default=())
    leader_recovery_state: int = field("int8", "1+", default=0, ignorable=True)
    partition_epoch: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_id: Uuid = field("uuid", "2+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class AlterPartitionResponse(Message, kind="response", valid="2-3", flexible="0+", key=56):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
