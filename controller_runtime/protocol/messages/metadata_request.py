# Generated from MetadataRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""MetadataRequest: request, key 3, versions 0-13, flexible 9+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class MetadataRequestTopic(Struct):
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    name: str | None = field("string", "0+", default="", nullable="10+")


class MetadataRequest(Message, kind="request", valid="0-13", flexible="9+", key=3, listeners=("broker",)):
    topics: tuple[MetadataRequestTopic, ...] | None = field([MetadataRequestTopic], "0+", default=(), nullable="1+")
    allow_auto_topic_creation: bool = field("bool", "4+", default=True)
    include_cluster_authorized_operations: bool = field("bool", "8-10", default=False)
    include_topic_authorized_operations: bool = field("bool", "8+", default=False)
