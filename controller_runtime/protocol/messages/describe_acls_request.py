# Generated from DescribeAclsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeAclsRequest: request, key 29, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DescribeAclsRequest(Message, kind="request", valid="1-3", flexible="2+", key=29, listeners=("broker", "controller")):
    resource_type_filter: int = field("int8", "0+", default=0)
    resource_name_filter: str | None = field("string", "0+", default="", nullable="0+")
    pattern_type_filter: int = field("int8", "1+", default=3)
    principal_filter: str | None = field("string", "0+", default="", nullable="0+")
    host_filter: str | None = field("string", "0+", default="", nullable="0+")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)
