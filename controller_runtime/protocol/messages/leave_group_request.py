# Generated from LeaveGroupRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""LeaveGroupRequest: request, key 13, versions 0-5, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class MemberIdentity(Struct):
    member_id: str = field("string", "3+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+")
    reason: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)


class LeaveGroupRequest(Message, kind="request", valid="0-5", flexible="4+", key=13, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    member_id: str = field("string", "0-2", default="")
    members: tuple[MemberIdentity, ...] = field([MemberIdentity], "3+", default=())
