# Generated from AddOffsetsToTxnRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AddOffsetsToTxnRequest: request, key 25, versions 0-4, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class AddOffsetsToTxnRequest(Message, kind="request", valid="0-4", flexible="3+", key=25, listeners=("broker",)):
    transactional_id: str = field("string", "0+", default="")
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int16", "0+", default=0)
    group_id: str = field("string", "0+", default="")
