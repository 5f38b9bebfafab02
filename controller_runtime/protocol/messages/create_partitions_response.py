# Generated from CreatePartitionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreatePartitionsResponse: response, key 37, versions 0-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class CreatePartitionsTopicResult(Struct):
    name: str = field("string", "0+", default="")
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")


class CreatePartitionsResponse(Message, kind="response", valid="0-3", flexible="2+", key=37):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[CreatePartitionsTopicResult, ...] = field([CreatePartitionsTopicResult], "0+", default=())
