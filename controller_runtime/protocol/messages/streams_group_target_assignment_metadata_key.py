# Generated from StreamsGroupTargetAssignmentMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupTargetAssignmentMetadataKey: coordinator-key, key 20, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class StreamsGroupTargetAssignmentMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=20):
    group_id: str = field("string", "0", default="")
