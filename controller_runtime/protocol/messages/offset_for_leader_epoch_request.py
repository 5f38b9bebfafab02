# Generated from OffsetForLeaderEpochRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetForLeaderEpochRequest: request, key 23, versions 2-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class OffsetForLeaderPartition(Struct):
    partition: int = field("int32", "0+", default=0)
    current_leader_epoch: int = field("int32", "2+", default=-1, ignorable=True)
    leader_epoch: int = field("int32", "0+", default=0)


class OffsetForLeaderTopic(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[OffsetForLeaderPartition, ...] = field([OffsetForLeaderPartition], "0+", default=())


class OffsetForLeaderEpochRequest(Message, kind="request", valid="2-4", flexible="4+", key=23, listeners=("broker",)):
    replica_id: int = field("int32", "3+", default=-2, ignorable=True)
    topics: tuple[OffsetForLeaderTopic, ...] = field([OffsetForLeaderTopic], "0+", default=())
