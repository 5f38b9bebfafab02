# Generated from ListGroupsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListGroupsResponse: response, key 16, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ListedGroup(Struct):
    group_id: str = field("string", "0+", default="")
    protocol_type: str = field("string", "0+", default="")
    group_state: str = field("string", "4+", default="", ignorable=True)
    group_type: str = field("string", "5+", default="", ignorable=True)


class ListGroupsResponse(Message, kind="response", valid="0-5", flexible="3+", key=16):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    groups: tuple[ListedGroup, ...] = field([ListedGroup], "0+", default=())
