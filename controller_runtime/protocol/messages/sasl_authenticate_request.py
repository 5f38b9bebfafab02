# Generated from SaslAuthenticateRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SaslAuthenticateRequest: request, key 36, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SaslAuthenticateRequest(Message, kind="request", valid="0-2", flexible="2+", key=36, listeners=("broker", "controller")):
    auth_bytes: bytes = field("bytes", "0+", default=b"")
