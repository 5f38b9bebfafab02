# Generated from DescribeTransactionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeTransactionsResponse: response, key 65, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicData(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class TransactionState(Struct):
    error_code: int = field("int16", "0+", default=0)
    transactional_id: str = field("string", "0+", default="")
    transaction_state: str = field("string", "0+", default="")
    transaction_timeout_ms: int = field("int32", "0+", default=0)
    transaction_start_time_ms: int = field("int64", "0+", default=0)
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int16", "0+", default=0)
    topics: tuple[TopicData, ...] = field([TopicData], "0+", default=())


class DescribeTransactionsResponse(Message, kind="response", valid="0", flexible="0+", key=65):
    throttle_time_ms: int = field("int32", "0+", default=0)
    transaction_states: tuple[TransactionState, ...] = field([TransactionState], "0+", default=())
