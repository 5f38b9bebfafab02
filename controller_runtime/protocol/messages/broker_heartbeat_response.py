# Generated from BrokerHeartbeatResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BrokerHeartbeatResponse: response, key 63, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class BrokerHeartbeatResponse(Message, kind="response", valid="0-2", flexible="0+", key=63):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    is_caught_up: bool = field("bool", "0+", default=False)
    is_fenced: bool = field("bool", "0+", default=True)
    should_shut_down: bool = field("bool", "0+", default=False)
