# Generated from ShareGroupTargetAssignmentMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupTargetAssignmentMetadataKey: coordinator-key, key 12, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupTargetAssignmentMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=12):
    group_id: str = field("string", "0", default="")
