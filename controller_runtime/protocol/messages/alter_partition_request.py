# Generated from AlterPartitionRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterPartitionRequest: request, key 56, versions 2-3, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class BrokerState(Struct):
    broker_id: int = field("int32", "3+", default=0)
    broker_epoch: int = field("int64", "3+", default=-1)


class PartitionData(Struct):
    partition_index: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)
    new_isr: tuple[int, ...] = field(["int32"], "0-2", default=())
    new_isr_with_epochs: tuple[BrokerState, ...] = field([BrokerState], "3+", default=())
    leader_recovery_state: int = field("int8", "1+", default=0)
    partition_epoch: int = field("int32", "0+", default=0)


class TopicData(Struct):
    topic_id: Uuid = field("uuid", "2+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class AlterPartitionRequest(Message, kind="request", valid="2-3", flexible="0+", key=56, listeners=("controller",)):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())
