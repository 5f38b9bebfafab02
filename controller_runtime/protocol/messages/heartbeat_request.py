# Generated from HeartbeatRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""HeartbeatRequest: request, key 12, versions 0-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class HeartbeatRequest(Message, kind="request", valid="0-4", flexible="4+", key=12, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    generation_id: int = field("int32", "0+", default=0)
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+")
