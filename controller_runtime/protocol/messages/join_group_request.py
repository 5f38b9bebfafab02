# Generated from JoinGroupRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""JoinGroupRequest: request, key 11, versions 0-9, flexible 6+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class JoinGroupRequestProtocol(Struct):
    name: str = field("string", "0+", default="")
    metadata: bytes = field("bytes", "0+", default=b"")


class JoinGroupRequest(Message, kind="request", valid="0-9", flexible="6+", key=11, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    session_timeout_ms: int = field("int32", "0+", default=0)
    rebalance_timeout_ms: int = field("int32", "1+", default=-1, ignorable=True)
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "5+", default=None, nullable="5+")
    protocol_type: str = field("string", "0+", default="")
    protocols: tuple[JoinGroupRequestProtocol, ...] = field([JoinGroupRequestProtocol], "0+", default=())
    reason: str | None = field("string", "8+", default=None, nullable="8+", ignorable=True)
