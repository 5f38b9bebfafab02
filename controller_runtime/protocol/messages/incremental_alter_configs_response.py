# Generated from IncrementalAlterConfigsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""IncrementalAlterConfigsResponse: response, key 44, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterConfigsResourceResponse(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")


class IncrementalAlterConfigsResponse(Message, kind="response", valid="0-1", flexible="1+", key=44):
    throttle_time_ms: int = field("int32", "0+", default=0)
    responses: tuple[AlterConfigsResourceResponse, ...] = field([AlterConfigsResourceResponse], "0+", default=())
