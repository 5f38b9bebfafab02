# Generated from ShareGroupTargetAssignmentMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupTargetAssignmentMetadataValue: coordinator-value, key 12, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupTargetAssignmentMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=12):
    assignment_epoch: int = field("int32", "0+", default=0)
    assignment_timestamp: int = field("int64", "0+", default=0, tag=0, tagged="0+")
