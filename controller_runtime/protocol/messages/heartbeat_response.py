# Generated from HeartbeatResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""HeartbeatResponse: response, key 12, versions 0-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class HeartbeatResponse(Message, kind="response", valid="0-4", flexible="4+", key=12):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
