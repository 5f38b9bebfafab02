# Generated from ResponseHeader in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ResponseHeader: header, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ResponseHeader(Message, kind="header", valid="0-1", flexible="1+"):
    correlation_id: int = field("int32", "0+", default=0)
