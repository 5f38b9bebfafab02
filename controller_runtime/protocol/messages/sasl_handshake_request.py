# Generated from SaslHandshakeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SaslHandshakeRequest: request, key 17, versions 0-1, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SaslHandshakeRequest(Message, kind="request", valid="0-1", flexible="none", key=17, listeners=("broker", "controller")):
    mechanism: str = field("string", "0+", default="")
