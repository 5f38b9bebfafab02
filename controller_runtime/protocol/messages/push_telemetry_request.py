# Generated from PushTelemetryRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""PushTelemetryRequest: request, key 72, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class PushTelemetryRequest(Message, kind="request", valid="0", flexible="0+", key=72, listeners=("broker",)):
    client_instance_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    subscription_id: int = field("int32", "0+", default=0)
    terminating: bool = field("bool", "0+", default=False)
    compression_type: int = field("int8", "0+", default=0)
    metrics: bytes = field("bytes", "0+", default=b"")
