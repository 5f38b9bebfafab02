# Generated from DescribeClientQuotasRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeClientQuotasRequest: request, key 48, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ComponentData(Struct):
    entity_type: str = field("string", "0+", default="")
    match_type: int = field("int8", "0+", default=0)
    match: str | None = field("string", "0+", default="", nullable="0+")


class DescribeClientQuotasRequest(Message, kind="request", valid="0-1", flexible="1+", key=48, listeners=("broker",)):
    components: tuple[ComponentData, ...] = field([ComponentData], "0+", default=())
    strict: bool = field("bool", "0+", default=False)
