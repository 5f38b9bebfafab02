# Generated from DescribeClientQuotasResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeClientQuotasResponse: response, key 48, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class EntityData(Struct):
    entity_type: str = field("string", "0+", default="")
    entity_name: str | None = field("string", "0+", default="", nullable="0+")


class ValueData(Struct):
    key: str = field("string", "0+", default="")
    value: float = field("float64", "0+", default=0.0)


class EntryData(Struct):
    entity: tuple[EntityData, ...] = field([EntityData], "0+", default=())
    values: tuple[ValueData, ...] = field([ValueData], "0+", default=())


class DescribeClientQuotasResponse(Message, kind="response", valid="0-1", flexible="1+", key=48):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    entries: tuple[EntryData, ...] | None = field([EntryData], "0+", default=(), nullable="0+")
