# Generated from RequestHeader in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RequestHeader: header, versions 1-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RequestHeader(Message, kind="header", valid="1-2", flexible="2+"):
    request_api_key: int = field("int16", "0+", default=0)
    request_api_version: int = field("int16", "0+", default=0)
    correlation_id: int = field("int32", "0+", default=0)
    client_id: str | None = field("string", "1+", default="", nullable="1+", never_flexible=True)
