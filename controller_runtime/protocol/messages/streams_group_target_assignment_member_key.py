# Generated from StreamsGroupTargetAssignmentMemberKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupTargetAssignmentMemberKey: coordinator-key, key 21, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class StreamsGroupTargetAssignmentMemberKey(Message, kind="coordinator-key", valid="0", flexible="none", key=21):
    group_id: str = field("string", "0", default="")
    member_id: str = field("string", "0", default="")
