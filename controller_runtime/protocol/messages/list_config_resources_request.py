# Generated from ListConfigResourcesRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListConfigResourcesRequest: request, key 74, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ListConfigResourcesRequest(Message, kind="request", valid="0-1", flexible="0+", key=74, listeners=("broker",)):
    resource_types: tuple[int, ...] = field(["int8"], "1+", default=())
