# Generated from DeleteGroupsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteGroupsResponse: response, key 42, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeletableGroupResult(Struct):
    group_id: str = field("string", "0+", default="")
    error_code: int = field("int16", "0+", default=0)


class DeleteGroupsResponse(Message, kind="response", valid="0-2", flexible="2+", key=42):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[DeletableGroupResult, ...] = field([DeletableGroupResult], "0+", default=())
