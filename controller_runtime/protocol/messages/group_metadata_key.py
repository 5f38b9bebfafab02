# Generated from GroupMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""GroupMetadataKey: coordinator-key, key 2, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class GroupMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=2):
    group: str = field("string", "0", default="")
