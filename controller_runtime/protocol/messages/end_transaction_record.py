# Generated from EndTransactionRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndTransactionRecord: metadata, key 24, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message


class EndTransactionRecord(Message, kind="metadata", valid="0", flexible="0+", key=24):
    pass
