# Generated from DescribeTransactionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeTransactionsRequest: request, key 65, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DescribeTransactionsRequest(Message, kind="request", valid="0", flexible="0+", key=65, listeners=("broker",)):
    transactional_ids: tuple[str, ...] = field(["string"], "0+", default=())
