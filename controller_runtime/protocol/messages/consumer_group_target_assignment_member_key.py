# Generated from ConsumerGroupTargetAssignmentMemberKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupTargetAssignmentMemberKey: coordinator-key, key 7, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupTargetAssignmentMemberKey(Message, kind="coordinator-key", valid="0", flexible="none", key=7):
    group_id: str = field("string", "0", default="")
    member_id: str = field("string", "0", default="")
