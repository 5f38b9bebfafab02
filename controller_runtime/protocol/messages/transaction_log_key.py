# Generated from TransactionLogKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""TransactionLogKey: coordinator-key, key 0, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class TransactionLogKey(Message, kind="coordinator-key", valid="0", flexible="none", key=0):
    transactional_id: str = field("string", "0", default="")
