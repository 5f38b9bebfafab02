# Generated from CreateAclsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreateAclsResponse: response, key 30, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AclCreationResult(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")


class CreateAclsResponse(Message, kind="response", valid="1-3", flexible="2+", key=30):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[AclCreationResult, ...] = field([AclCreationResult], "0+", default=())
