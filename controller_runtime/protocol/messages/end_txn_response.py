# Generated from EndTxnResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndTxnResponse: response, key 26, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class EndTxnResponse(Message, kind="response", valid="0-5", flexible="3+", key=26):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    producer_id: int = field("int64", "5+", default=-1, ignorable=True)
    producer_epoch: int = field("int16", "5+", default=-1, ignorable=True)
