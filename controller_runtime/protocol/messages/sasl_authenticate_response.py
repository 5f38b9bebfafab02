# Generated from SaslAuthenticateResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SaslAuthenticateResponse: response, key 36, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SaslAuthenticateResponse(Message, kind="response", valid="0-2", flexible="2+", key=36):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    auth_bytes: bytes = field("bytes", "0+", default=b"")
    session_lifetime_ms: int = field("int64", "1+", default=0, ignorable=True)
