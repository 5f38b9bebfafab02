# Generated from ConsumerGroupMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupMetadataKey: coordinator-key, key 3, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=3):
    group_id: str = field("string", "0", default="")
