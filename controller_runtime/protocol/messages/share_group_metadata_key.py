# Generated from ShareGroupMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupMetadataKey: coordinator-key, key 11, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=11):
    group_id: str = field("string", "0", default="")
