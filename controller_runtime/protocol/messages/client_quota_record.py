# Generated from ClientQuotaRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ClientQuotaRecord: metadata, key 14, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class EntityData(Struct):
    entity_type: str = field("string", "0+", default="")
    entity_name: str | None = field("string", "0+", default="", nullable="0+")


class ClientQuotaRecord(Message, kind="metadata", valid="0", flexible="0+", key=14):
    entity: tuple[EntityData, ...] = field([EntityData], "0+", default=())
    key: str = field("string", "0+", default="")
    value: float = field("float64", "0+", default=0.0)
    remove: bool = field("bool", "0+", default=False)
