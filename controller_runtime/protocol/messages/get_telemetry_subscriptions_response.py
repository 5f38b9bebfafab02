# Generated from GetTelemetrySubscriptionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""GetTelemetrySubscriptionsResponse: response, key 71, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class GetTelemetrySubscriptionsResponse(Message, kind="response", valid="0", flexible="0+", key=71):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    client_instance_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    subscription_id: int = field("int32", "0+", default=0)
    accepted_compression_types: tuple[int, ...] = field(["int8"], "0+", default=())
    push_interval_ms: int = field("int32", "0+", default=0)
    telemetry_max_bytes: int = field("int32", "0+", default=0)
    delta_temporality: bool = field("bool", "0+", default=False)
    requested_metrics: tuple[str, ...] = field(["string"], "0+", default=())
