# Generated from ConfigRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConfigRecord: metadata, key 4, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConfigRecord(Message, kind="metadata", valid="0", flexible="0+", key=4):
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    name: str = field("string", "0+", default="")
    value: str | None = field("string", "0+", default="", nullable="0+")
