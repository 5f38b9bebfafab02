# Generated from OffsetCommitRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetCommitRequest: request, key 8, versions 2-10, flexible 8+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class OffsetCommitRequestPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    committed_offset: int = field("int64", "0+", default=0)
    committed_leader_epoch: int = field("int32", "6+", default=-1, ignorable=True)
    committed_metadata: str | None = field("string", "0+", default="", nullable="0+")


class OffsetCommitRequestTopic(Struct):
    name: str = field("string", "0-9", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetCommitRequestPartition, ...] = field([OffsetCommitRequestPartition], "0+", default=())


class OffsetCommitRequest(Message, kind="request", valid="2-10", flexible="8+", key=8, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    generation_id_or_member_epoch: int = field("int32", "1+", default=-1, ignorable=True)
    member_id: str = field("string", "1+", default="", ignorable=True)
    group_instance_id: str | None = field("string", "7+", default=None, nullable="7+")
    retention_time_ms: int = field("int64", "2-4", default=-1, ignorable=True)
    topics: tuple[OffsetCommitRequestTopic, ...] = field([OffsetCommitRequestTopic], "0+", default=())
