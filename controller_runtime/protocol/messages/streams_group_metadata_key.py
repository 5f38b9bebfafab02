# Generated from StreamsGroupMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupMetadataKey: coordinator-key, key 17, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class StreamsGroupMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=17):
    group_id: str = field("string", "0", default="")
