# Generated from AlterClientQuotasResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterClientQuotasResponse: response, key 49, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class EntityData(Struct):
    entity_type: str = field("string", "0+", default="")
    entity_name: str | None = field("string", "0+", default="", nullable="0+")


class EntryData(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    entity: tuple[EntityData, ...] = field([EntityData], "0+", default=())


class AlterClientQuotasResponse(Message, kind="response", valid="0-1", flexible="1+", key=49):
    throttle_time_ms: int = field("int32", "0+", default=0)
    entries: tuple[EntryData, ...] = field([EntryData], "0+", default=())
