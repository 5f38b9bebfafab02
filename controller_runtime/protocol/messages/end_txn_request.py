# Generated from EndTxnRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndTxnRequest: request, key 26, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class EndTxnRequest(Message, kind="request", valid="0-5", flexible="3+", key=26, listeners=("broker",)):
    transactional_id: str = field("string", "0+", default="")
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int16", "0+", default=0)
    committed: bool = field("bool", "0+", default=False)
