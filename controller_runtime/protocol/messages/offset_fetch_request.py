# Generated from OffsetFetchRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetFetchRequest: request, key 9, versions 1-10, flexible 6+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class OffsetFetchRequestTopic(Struct):
    name: str = field("string", "0-7", default="")
    partition_indexes: tuple[int, ...] = field(["int32"], "0-7", default=())


class OffsetFetchRequestTopics(Struct):
    name: str = field("string", "8-9", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: tuple[int, ...] = field(["int32"], "8+", default=())


class OffsetFetchRequestGroup(Struct):
    group_id: str = field("string", "8+", default="")
    member_id: str | None = field("string", "9+", default=None, nullable="9+", ignorable=True)
    member_epoch: int = field("int32", "9+", default=-1, ignorable=True)
    topics: tuple[OffsetFetchRequestTopics, ...] | None = field([OffsetFetchRequestTopics], "8+", default=(), nullable="8+")


class OffsetFetchRequest(Message, kind="request", valid="1-10", flexible="6+", key=9, listeners=("broker",)):
    group_id: str = field("string", "0-7", default="")
    topics: tuple[OffsetFetchRequestTopic, ...] | None = field([OffsetFetchRequestTopic], "0-7", default=(), nullable="2-7")
    groups: tuple[OffsetFetchRequestGroup, ...] = field([OffsetFetchRequestGroup], "8+", default=())
    require_stable: bool = field("bool", "7+", default=False)
