# Generated from BeginTransactionRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BeginTransactionRecord: metadata, key 23, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class BeginTransactionRecord(Message, kind="metadata", valid="0", flexible="0+", key=23):
    name: str | None = field("string", "0+", default=None, nullable="0+", tag=0, tagged="0+")
