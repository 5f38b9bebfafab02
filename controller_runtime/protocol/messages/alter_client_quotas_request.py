# Generated from AlterClientQuotasRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterClientQuotasRequest: request, key 49, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class EntityData(Struct):
    entity_type: str = field("string", "0+", default="")
    entity_name: str | None = field("string", "0+", default="", nullable="0+")


class OpData(Struct):
    key: str = field("string", "0+", default="")
    value: float = field("float64", "0+", default=0.0)
    remove: bool = field("bool", "0+", default=False)


class EntryData(Struct):
    entity: tuple[EntityData, ...] = field([EntityData], "0+", default=())
    ops: tuple[OpData, ...] = field([OpData], "0+", default=())


class AlterClientQuotasRequest(Message, kind="request", valid="0-1", flexible="1+", key=49, listeners=("broker", "controller")):
    entries: tuple[EntryData, ...] = field([EntryData], "0+", default=())
    validate_only: bool = field("bool", "0+", default=False)
