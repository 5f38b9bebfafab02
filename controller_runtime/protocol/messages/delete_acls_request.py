# Generated from DeleteAclsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteAclsRequest: request, key 31, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DeleteAclsFilter(Struct):
    resource_type_filter: int = field("int8", "0+", default=0)
    resource_name_filter: str | None = field("string", "0+", default="", nullable="0+")
    pattern_type_filter: int = field("int8", "1+", default=3)
    principal_filter: str | None = field("string", "0+", default="", nullable="0+")
    host_filter: str | None = field("string", "0+", default="", nullable="0+")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)


class DeleteAclsRequest(Message, kind="request", valid="1-3", flexible="2+", key=31, listeners=("broker", "controller")):
    filters: tuple[DeleteAclsFilter, ...] = field([DeleteAclsFilter], "0+", default=())
