# Generated from ShareGroupStatePartitionMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupStatePartitionMetadataKey: coordinator-key, key 15, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupStatePartitionMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=15):
    group_id: str = field("string", "0", default="")
