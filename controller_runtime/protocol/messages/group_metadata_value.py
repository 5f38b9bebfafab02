# Generated from GroupMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""GroupMetadataValue: coordinator-value, key 2, versions 0-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class MemberMetadata(Struct):
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+", ignorable=True)
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    rebalance_timeout: int = field("int32", "1+", default=-1, ignorable=True)
    session_timeout: int = field("int32", "0+", default=0)
    subscription: bytes = field("bytes", "0+", default=b"")
    assignment: bytes = field("bytes", "0+", default=b"")


class GroupMetadataValue(Message, kind="coordinator-value", valid="0-4", flexible="4+", key=2):
    protocol_type: str = field("string", "0+", default="")
    generation: int = field("int32", "0+", default=0)
    protocol: str | None = field("string", "0+", default="", nullable="0+")
    leader: str | None = field("string", "0+", default="", nullable="0+")
    current_state_timestamp: int = field("int64", "2+", default=-1, ignorable=True)
    members: tuple[MemberMetadata, ...] = field([MemberMetadata], "0+", default=())
