# Generated from ProducerIdsRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ProducerIdsRecord: metadata, key 15, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ProducerIdsRecord(Message, kind="metadata", valid="0", flexible="0+", key=15):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
    next_producer_id: int = field("int64", "0+", default=0)
