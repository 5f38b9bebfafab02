# Generated from AccessControlEntryRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AccessControlEntryRecord: metadata, key 18, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class AccessControlEntryRecord(Message, kind="metadata", valid="0", flexible="0+", key=18):
    id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    pattern_type: int = field("int8", "0+", default=0)
    principal: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    operation: int = field("int8", "0+", default=0)
    permission_type: int = field("int8", "0+", default=0)
