# Generated from BrokerRegistrationResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BrokerRegistrationResponse: response, key 62, versions 0-4, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class BrokerRegistrationResponse(Message, kind="response", valid="0-4", flexible="0+", key=62):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
