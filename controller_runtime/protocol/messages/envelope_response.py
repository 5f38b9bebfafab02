# Generated from EnvelopeResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EnvelopeResponse: response, key 58, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class EnvelopeResponse(Message, kind="response", valid="0", flexible="0+", key=58):
    response_data: bytes | None = field("bytes", "0+", default=None, nullable="0+")
    error_code: int = field("int16", "0+", default=0)
