# Generated from PushTelemetryResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""PushTelemetryResponse: response, key 72, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class PushTelemetryResponse(Message, kind="response", valid="0", flexible="0+", key=72):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
