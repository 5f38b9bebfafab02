# Generated from ConsumerGroupPartitionMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupPartitionMetadataKey: coordinator-key, key 4, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupPartitionMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=4):
    group_id: str = field("string", "0", default="")
