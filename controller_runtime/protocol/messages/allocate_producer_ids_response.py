# Generated from AllocateProducerIdsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AllocateProducerIdsResponse: response, key 67, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class AllocateProducerIdsResponse(Message, kind="response", valid="0", flexible="0+", key=67):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    producer_id_start: int = field("int64", "0+", default=0)
    producer_id_len: int = field("int32", "0+", default=0)
