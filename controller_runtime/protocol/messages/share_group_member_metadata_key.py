# Generated from ShareGroupMemberMetadataKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupMemberMetadataKey: coordinator-key, key 10, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupMemberMetadataKey(Message, kind="coordinator-key", valid="0", flexible="none", key=10):
    group_id: str = field("string", "0", default="")
    member_id: str = field("string", "0", default="")
