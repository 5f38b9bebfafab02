# Generated from ControllerRegistrationResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ControllerRegistrationResponse: response, key 70, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ControllerRegistrationResponse(Message, kind="response", valid="0", flexible="0+", key=70):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
