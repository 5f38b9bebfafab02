# Generated from FenceBrokerRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FenceBrokerRecord: metadata, key 7, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class FenceBrokerRecord(Message, kind="metadata", valid="0", flexible="0+", key=7):
    id: int = field("int32", "0+", default=0)
    epoch: int = field("int64", "0+", default=0)
