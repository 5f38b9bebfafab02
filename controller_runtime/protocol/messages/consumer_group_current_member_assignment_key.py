# Generated from ConsumerGroupCurrentMemberAssignmentKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupCurrentMemberAssignmentKey: coordinator-key, key 8, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupCurrentMemberAssignmentKey(Message, kind="coordinator-key", valid="0", flexible="none", key=8):
    group_id: str = field("string", "0", default="")
    member_id: str = field("string", "0", default="")
