# Generated from OffsetForLeaderEpochResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetForLeaderEpochResponse: response, key 23, versions 2-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class EpochEndOffset(Struct):
    error_code: int = field("int16", "0+", default=0)
    partition: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "1+", default=-1, ignorable=True)
    end_offset: int = field("int64", "0+", default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[EpochEndOffset, ...] = field([EpochEndOffset], "0+", default=())


class OffsetForLeaderEpochResponse(Message, kind="response", valid="2-4", flexible="4+", key=23):
    throttle_time_ms: int = field("int32", "2+", default=0, ignorable=True)
    topics: tuple[OffsetForLeaderTopicResult, ...] = field([OffsetForLeaderTopicResult], "0+", default=())
