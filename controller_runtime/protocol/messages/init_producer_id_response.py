# Generated from InitProducerIdResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""InitProducerIdResponse: response, key 22, versions 0-6, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class InitProducerIdResponse(Message, kind="response", valid="0-6", flexible="2+", key=22):
    throttle_time_ms: int = field("int32", "0+", default=0, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    producer_id: int = field("int64", "0+", default=-1)
    producer_epoch: int = field("int16", "0+", default=0)
    ongoing_txn_producer_id: int = field("int64", "6+", default=-1)
    ongoing_txn_producer_epoch: int = field("int16", "6+", default=-1)
