# Generated from ListConfigResourcesResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListConfigResourcesResponse: response, key 74, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ConfigResource(Struct):
    resource_name: str = field("string", "0+", default="")
    resource_type: int = field("int8", "1+", default=16, ignorable=True)


class ListConfigResourcesResponse(Message, kind="response", valid="0-1", flexible="0+", key=74):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    config_resources: tuple[ConfigResource, ...] = field([ConfigResource], "0+", default=())
