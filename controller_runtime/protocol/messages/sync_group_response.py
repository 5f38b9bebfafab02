# Generated from SyncGroupResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SyncGroupResponse: response, key 14, versions 0-5, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SyncGroupResponse(Message, kind="response", valid="0-5", flexible="4+", key=14):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    protocol_type: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field("string", "5+", default=None, nullable="5+", ignorable=True)
    assignment: bytes = field("bytes", "0+", default=b"")
