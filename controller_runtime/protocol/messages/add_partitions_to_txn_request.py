# Generated from AddPartitionsToTxnRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AddPartitionsToTxnRequest: request, key 24, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AddPartitionsToTxnTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = field("string", "4+", default="")
    producer_id: int = field("int64", "4+", default=0)
    producer_epoch: int = field("int16", "4+", default=0)
    verify_only: bool = field("bool", "4+", default=False)
    topics: tuple[AddPartitionsToTxnTopic, ...] = field([AddPartitionsToTxnTopic], "4+", default=())


class AddPartitionsToTxnRequest(Message, kind="request", valid="0-5", flexible="3+", key=24, listeners=("broker",)):
    transactions: tuple[AddPartitionsToTxnTransaction, ...] = field([AddPartitionsToTxnTransaction], "4+", default=())
    v3_and_below_transactional_id: str = field("string", "0-3", default="")
    v3_and_below_producer_id: int = field("int64", "0-3", default=0)
    v3_and_below_producer_epoch: int = field("int16", "0-3", default=0)
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = field([AddPartitionsToTxnTopic], "0-3", default=())
