# Generated from DeleteShareGroupOffsetsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteShareGroupOffsetsResponse: response, key 92, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field("string", "0+", default="")
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class DeleteShareGroupOffsetsResponse(Message, kind="response", valid="0", flexible="0+", key=92):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = field([DeleteShareGroupOffsetsResponseTopic], "0+", default=())
