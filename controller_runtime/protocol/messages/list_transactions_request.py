# Generated from ListTransactionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListTransactionsRequest: request, key 66, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ListTransactionsRequest(Message, kind="request", valid="0-2", flexible="0+", key=66, listeners=("broker",)):
    state_filters: tuple[str, ...] = field(["string"], "0+", default=())
    producer_id_filters: tuple[int, ...] = field(["int64"], "0+", default=())
    duration_filter: int = field("int64", "1+", default=-1)
    transactional_id_pattern: str | None = field("string", "2+", default=None, nullable="2+")
