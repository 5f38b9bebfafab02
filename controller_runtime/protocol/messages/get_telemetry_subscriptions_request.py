# Generated from GetTelemetrySubscriptionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""GetTelemetrySubscriptionsRequest: request, key 71, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class GetTelemetrySubscriptionsRequest(Message, kind="request", valid="0", flexible="0+", key=71, listeners=("broker",)):
    client_instance_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
