# Generated from EnvelopeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EnvelopeRequest: request, key 58, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class EnvelopeRequest(Message, kind="request", valid="0", flexible="0+", key=58, listeners=("controller",)):
    request_data: bytes = field("bytes", "0+", default=b"")
    request_principal: bytes | None = field("bytes", "0+", default=b"", nullable="0+")
    client_host_address: bytes = field("bytes", "0+", default=b"")
