# Generated from InitProducerIdRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""InitProducerIdRequest: request, key 22, versions 0-6, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class InitProducerIdRequest(Message, kind="request", valid="0-6", flexible="2+", key=22, listeners=("broker",)):
    transactional_id: str | None = field("string", "0+", default="", nullable="0+")
    transaction_timeout_ms: int = field("int32", "0+", default=0)
    producer_id: int = field("int64", "3+", default=-1)
    producer_epoch: int = field("int16", "3+", default=-1)
    enable2_pc: bool = field("bool", "6+", default=False)
    keep_prepared_txn: bool = field("bool", "6+", default=False)
