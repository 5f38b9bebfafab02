# Generated from TransactionLogValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""TransactionLogValue: coordinator-value, key 0, versions 0-1, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class PartitionsSchema(Struct):
    topic: str = field("string", "0+", default="")
    partition_ids: tuple[int, ...] = field(["int32"], "0+", default=())


class TransactionLogValue(Message, kind="coordinator-value", valid="0-1", flexible="1+", key=0):
    producer_id: int = field("int64", "0+", default=0)
    previous_producer_id: int = field("int64", "1+", default=-1, tag=0, tagged="1+")
    next_producer_id: int = field("int64", "1+", default=-1, tag=1, tagged="1+")
    producer_epoch: int = field("int16", "0+", default=0)
    next_producer_epoch: int = field("int16", "1+", default=-1, tag=3, tagged="1+")
    transaction_timeout_ms: int = field("int32", "0+", default=0)
    transaction_status: int = field("int8", "0+", default=0)
    transaction_partitions: tuple[PartitionsSchema, ...] | None = field([PartitionsSchema], "0+", default=(), nullable="0+")
    transaction_last_update_timestamp_ms: int = field("int64", "0+", default=0)
    transaction_start_timestamp_ms: int = field("int64", "0+", default=0)
    client_transaction_version: int = field("int16", "1+", default=0, tag=2, tagged="1+")
