# Generated from TxnOffsetCommitResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""TxnOffsetCommitResponse: response, key 28, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class TxnOffsetCommitResponseTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[TxnOffsetCommitResponsePartition, ...] = field([TxnOffsetCommitResponsePartition], "0+", default=())


class TxnOffsetCommitResponse(Message, kind="response", valid="0-5", flexible="3+", key=28):
    throttle_time_ms: int = field("int32", "0+", default=0)
    topics: tuple[TxnOffsetCommitResponseTopic, ...] = field([TxnOffsetCommitResponseTopic], "0+", default=())
