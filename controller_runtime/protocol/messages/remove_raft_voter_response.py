# Generated from RemoveRaftVoterResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveRaftVoterResponse: response, key 81, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RemoveRaftVoterResponse(Message, kind="response", valid="0", flexible="0+", key=81):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+", ignorable=True)
