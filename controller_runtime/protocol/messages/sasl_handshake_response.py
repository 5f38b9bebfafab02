# Generated from SaslHandshakeResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SaslHandshakeResponse: response, key 17, versions 0-1, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SaslHandshakeResponse(Message, kind="response", valid="0-1", flexible="none", key=17):
    error_code: int = field("int16", "0+", default=0)
    mechanisms: tuple[str, ...] = field(["string"], "0+", default=())
