# Generated from SyncGroupRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SyncGroupRequest: request, key 14, versions 0-5, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class SyncGroupRequestAssignment(Struct):
    member_id: str = field("string", "0+", default="")
    assignment: bytes = field("bytes", "0+", default=b"")


class SyncGroupRequest(Message, kind="request", valid="0-5", flexible="4+", key=14, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    generation_id: int = field("int32", "0+", default=0)
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+")
    protocol_type: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)
    assignments: tuple[SyncGroupRequestAssignment, ...] = field([SyncGroupRequestAssignment], "0+", default=())
