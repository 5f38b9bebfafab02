# Generated from AbortTransactionRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AbortTransactionRecord: metadata, key 25, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class AbortTransactionRecord(Message, kind="metadata", valid="0", flexible="0+", key=25):
    reason: str | None = field("string", "0+", default=None, nullable="0+", tag=0, tagged="0+")
