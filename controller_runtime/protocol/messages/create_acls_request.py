# Generated from CreateAclsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreateAclsRequest: request, key 30, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AclCreation(Struct):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    resource_pattern_type: int = field("int8", "1+", default=3)
    principal: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)


class CreateAclsRequest(Message, kind="request", valid="1-3", flexible="2+", key=30, listeners=("broker", "controller")):
    creations: tuple[AclCreation, ...] = field([AclCreation], "0+", default=())
