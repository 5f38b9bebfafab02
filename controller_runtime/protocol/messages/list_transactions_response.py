# Generated from ListTransactionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListTransactionsResponse: response, key 66, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TransactionState(Struct):
    transactional_id: str = field("string", "0+", default="")
    producer_id: int = field("int64", "0+", default=0)
    transaction_state: str = field("string", "0+", default="")


class ListTransactionsResponse(Message, kind="response", valid="0-2", flexible="0+", key=66):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    unknown_state_filters: tuple[str, ...] = field(["string"], "0+", default=())
    transaction_states: tuple[TransactionState, ...] = field([TransactionState], "0+", default=())
