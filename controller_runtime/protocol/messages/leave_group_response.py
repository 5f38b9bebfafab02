# Generated from LeaveGroupResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""LeaveGroupResponse: response, key 13, versions 0-5, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class MemberResponse(Struct):
    member_id: str = field("string", "3+", default="")
    group_instance_id: str | None = field("string", "3+", default="", nullable="3+")
    error_code: int = field("int16", "3+", default=0)


class LeaveGroupResponse(Message, kind="response", valid="0-5", flexible="4+", key=13):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    members: tuple[MemberResponse, ...] = field([MemberResponse], "3+", default=())
