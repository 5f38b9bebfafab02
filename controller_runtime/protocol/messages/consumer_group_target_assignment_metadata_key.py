# Generated from ConsumerGroupTargetAssignmentMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupTargetAssignmentMetadataKey: coordinator-key, key 6, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupTargetAssignmentMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=6):
    group_id: str = field("string", "0", default="")
