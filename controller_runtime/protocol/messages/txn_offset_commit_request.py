# Generated from TxnOffsetCommitRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""TxnOffsetCommitRequest: request, key 28, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    committed_offset: int = field("int64", "0+", default=0)
    committed_leader_epoch: int = field("int32", "2+", default=-1, ignorable=True)
    committed_metadata: str | None = field("string", "0+", default="", nullable="0+")


class TxnOffsetCommitRequestTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[TxnOffsetCommitRequestPartition, ...] = field([TxnOffsetCommitRequestPartition], "0+", default=())


class TxnOffsetCommitRequest(Message, kind="request", valid="0-5", flexible="3+", key=28, listeners=("broker",)):
    transactional_id: str = field("string", "0+", default="")
    group_id: str = field("string", "0+", default="")
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int16", "0+", default=0)
    generation_id: int = field("int32", "3+", default=-1)
    member_id: str = field("string", "3+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+")
    topics: tuple[TxnOffsetCommitRequestTopic, ...] = field([TxnOffsetCommitRequestTopic], "0+", default=())
