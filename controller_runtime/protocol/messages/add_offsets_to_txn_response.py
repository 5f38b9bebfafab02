# Generated from AddOffsetsToTxnResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AddOffsetsToTxnResponse: response, key 25, versions 0-4, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class AddOffsetsToTxnResponse(Message, kind="response", valid="0-4", flexible="3+", key=25):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
