# Generated from OffsetCommitResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetCommitResponse: response, key 8, versions 2-10, flexible 8+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class OffsetCommitResponsePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class OffsetCommitResponseTopic(Struct):
    name: str = field("string", "0-9", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetCommitResponsePartition, ...] = field([OffsetCommitResponsePartition], "0+", default=())


class OffsetCommitResponse(Message, kind="response", valid="2-10", flexible="8+", key=8):
    throttle_time_ms: int = field("int32", "3+", default=0, ignorable=True)
    topics: tuple[OffsetCommitResponseTopic, ...] = field([OffsetCommitResponseTopic], "0+", default=())
