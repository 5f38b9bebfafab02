# Generated from DescribeGroupsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeGroupsResponse: response, key 15, versions 0-6, flexible 5+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribedGroupMember(Struct):
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "4+", default=None, nullable="4+", ignorable=True)
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    member_metadata: bytes = field("bytes", "0+", default=b"")
    member_assignment: bytes = field("bytes", "0+", default=b"")


class DescribedGroup(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "6+", default=None, nullable="6+")
    group_id: str = field("string", "0+", default="")
    group_state: str = field("string", "0+", default="")
    protocol_type: str = field("string", "0+", default="")
    protocol_data: str = field("string", "0+", default="")
    members: tuple[DescribedGroupMember, ...] = field([DescribedGroupMember], "0+", default=())
    authorized_operations: int = field("int32", "3+", default=-2147483648)


class DescribeGroupsResponse(Message, kind="response", valid="0-6", flexible="5+", key=15):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    groups: tuple[DescribedGroup, ...] = field([DescribedGroup], "0+", default=())
