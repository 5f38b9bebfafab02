# Generated from ShareGroupHeartbeatRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupHeartbeatRequest: request, key 76, versions 1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupHeartbeatRequest(Message, kind="request", valid="1", flexible="0+", key=76, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    member_id: str = field("string", "0+", default="")
    member_epoch: int = field("int32", "0+", default=0)
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    subscribed_topic_names: tuple[str, ...] | None = field(["string"], "0+", default=None, nullable="0+")
