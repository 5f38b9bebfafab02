# Generated from ConsumerGroupTargetAssignmentMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupTargetAssignmentMetadataValue: coordinator-value, key 6, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupTargetAssignmentMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=6):
    assignment_epoch: int = field("int32", "0+", default=0)
    assignment_timestamp: int = field("int64", "0+", default=0, tag=0, tagged="0+")
