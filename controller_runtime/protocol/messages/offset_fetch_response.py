# Generated from OffsetFetchResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetFetchResponse: response, key 9, versions 1-10, flexible 6+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class OffsetFetchResponsePartition(Struct):
    partition_index: int = field("int32", "0-7", default=0)
    committed_offset: int = field("int64", "0-7", default=0)
    committed_leader_epoch: int = field("int32", "5-7", default=-1, ignorable=True)
    metadata: str | None = field("string", "0-7", default="", nullable="0-7")
    error_code: int = field("int16", "0-7", default=0)


class OffsetFetchResponseTopic(Struct):
    name: str = field("string", "0-7", default="")
    partitions: tuple[OffsetFetchResponsePartition, ...] = field([OffsetFetchResponsePartition], "0-7", default=())


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = field("int32", "8+", default=0)
    committed_offset: int = field("int64", "8+", default=0)
    committed_leader_epoch: int = field("int32", "8+", default=-1, ignorable=True)
    metadata: str | None = field("string", "8+", default="", nullable="8+")
    error_code: int = field("int16", "8+", default=0)


class OffsetFetchResponseTopics(Struct):
    name: str = field("string", "8-9", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetFetchResponsePartitions, ...] = field([OffsetFetchResponsePartitions], "8+", default=())


class OffsetFetchResponseGroup(Struct):
    group_id: str = field("string", "8+", default="")
    topics: tuple[OffsetFetchResponseTopics, ...] = field([OffsetFetchResponseTopics], "8+", default=())
    error_code: int = field("int16", "8+", default=0)


class OffsetFetchResponse(Message, kind="response", valid="1-10", flexible="6+", key=9):
    throttle_time_ms: int = field("int32", "3+", default=0, ignorable=True)
    topics: tuple[OffsetFetchResponseTopic, ...] = field([OffsetFetchResponseTopic], "0-7", default=())
    error_code: int = field("int16", "2-7", default=0, ignorable=True)
    groups: tuple[OffsetFetchResponseGroup, ...] = field([OffsetFetchResponseGroup], "8+", default=())
