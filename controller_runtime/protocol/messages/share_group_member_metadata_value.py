# Generated from ShareGroupMemberMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupMemberMetadataValue: coordinator-value, key 10, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupMemberMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=10):
    rack_id: str | None = field("string", "0+", default="", nullable="0+")
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    subscribed_topic_names: tuple[str, ...] = field(["string"], "0+", default=())
