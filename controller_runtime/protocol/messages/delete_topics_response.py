# Generated from DeleteTopicsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteTopicsResponse: response, key 20, versions 1-6, flexible 4+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class DeletableTopicResult(Struct):
    name: str | None = field("string", "0+", default="", nullable="6+")
    topic_id: Uuid = field("uuid", "6+", default=ZERO_UUID, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)


class DeleteTopicsResponse(Message, kind="response", valid="1-6", flexible="4+", key=20):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    responses: tuple[DeletableTopicResult, ...] = field([DeletableTopicResult], "0+", default=())
