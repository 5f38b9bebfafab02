# Generated from RemoveAccessControlEntryRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveAccessControlEntryRecord: metadata, key 19, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class RemoveAccessControlEntryRecord(Message, kind="metadata", valid="0", flexible="0+", key=19):
    id: Uuid = field("uuid", "0+", default=ZERO_UUID)
