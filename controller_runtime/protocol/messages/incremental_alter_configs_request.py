# Generated from IncrementalAlterConfigsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""IncrementalAlterConfigsRequest: request, key 44, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterableConfig(Struct):
    name: str = field("string", "0+", default="")
    config_operation: int = field("int8", "0+", default=0)
    value: str | None = field("string", "0+", default="", nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    configs: tuple[AlterableConfig, ...] = field([AlterableConfig], "0+", default=())


class IncrementalAlterConfigsRequest(Message, kind="request", valid="0-1", flexible="1+", key=44, listeners=("broker", "controller")):
    resources: tuple[AlterConfigsResource, ...] = field([AlterConfigsResource], "0+", default=())
    validate_only: bool = field("bool", "0+", default=False)
