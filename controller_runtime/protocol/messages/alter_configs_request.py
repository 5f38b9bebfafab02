# Generated from AlterConfigsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterConfigsRequest: request, key 33, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterableConfig(Struct):
    name: str = field("string", "0+", default="")
    value: str | None = field("string", "0+", default="", nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    configs: tuple[AlterableConfig, ...] = field([AlterableConfig], "0+", default=())


class AlterConfigsRequest(Message, kind="request", valid="0-2", flexible="2+", key=33, listeners=("broker", "controller")):
    resources: tuple[AlterConfigsResource, ...] = field([AlterConfigsResource], "0+", default=())
    validate_only: bool = field("bool", "0+", default=False)
