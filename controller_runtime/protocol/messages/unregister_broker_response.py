# Generated from UnregisterBrokerResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UnregisterBrokerResponse: response, key 64, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class UnregisterBrokerResponse(Message, kind="response", valid="0", flexible="0+", key=64):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
