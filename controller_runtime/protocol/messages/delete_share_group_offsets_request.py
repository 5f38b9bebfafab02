# Generated from DeleteShareGroupOffsetsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteShareGroupOffsetsRequest: request, key 92, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field("string", "0+", default="")


class DeleteShareGroupOffsetsRequest(Message, kind="request", valid="0", flexible="0+", key=92, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...] = field([DeleteShareGroupOffsetsRequestTopic], "0+", default=())
