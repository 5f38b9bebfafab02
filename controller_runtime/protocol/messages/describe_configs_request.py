# Generated from DescribeConfigsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeConfigsRequest: request, key 32, versions 1-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeConfigsResource(Struct):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    configuration_keys: tuple[str, ...] | None = field(["string"], "0+", default=(), nullable="0+")


class DescribeConfigsRequest(Message, kind="request", valid="1-4", flexible="4+", key=32, listeners=("broker", "controller")):
    resources: tuple[DescribeConfigsResource, ...] = field([DescribeConfigsResource], "0+", default=())
    include_synonyms: bool = field("bool", "1+", default=False)
    include_documentation: bool = field("bool", "3+", default=False)
