# Generated from DescribeAclsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeAclsResponse: response, key 29, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AclDescription(Struct):
    principal: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)


class DescribeAclsResource(Struct):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    pattern_type: int = field("int8", "1+", default=3)
    acls: tuple[AclDescription, ...] = field([AclDescription], "0+", default=())


class DescribeAclsResponse(Message, kind="response", valid="1-3", flexible="2+", key=29):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    resources: tuple[DescribeAclsResource, ...] = field([DescribeAclsResource], "0+", default=())
