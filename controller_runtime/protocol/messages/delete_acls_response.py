# Generated from DeleteAclsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteAclsResponse: response, key 31, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeleteAclsMatchingAcl(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    pattern_type: int = field("int8", "1+", default=3)
    principal: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)


class DeleteAclsFilterResult(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    matching_acls: tuple[DeleteAclsMatchingAcl, ...] = field([DeleteAclsMatchingAcl], "0+", default=())


class DeleteAclsResponse(Message, kind="response", valid="1-3", flexible="2+", key=31):
    throttle_time_ms: int = field("int32", "0+", default=0)
    filter_results: tuple[DeleteAclsFilterResult, ...] = field([DeleteAclsFilterResult], "0+", default=())
