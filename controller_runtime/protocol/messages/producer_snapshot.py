# Generated from ProducerSnapshot in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ProducerSnapshot: data, versions 1, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ProducerEntry(Struct):
    producer_id: int = field("int64", "1+", default=0)
    epoch: int = field("int16", "1+", default=0)
    last_sequence: int = field("int32", "1+", default=0)
    last_offset: int = field("int64", "1+", default=0)
    offset_delta: int = field("int32", "1+", default=0)
    timestamp: int = field("int64", "1+", default=0)
    coordinator_epoch: int = field("int32", "1+", default=0)
    current_txn_first_offset: int = field("int64", "1+", default=0)


class ProducerSnapshot(Message, kind="data", valid="1", flexible="none"):
    crc: int = field("uint32", "1+", default=0)
    producer_entries: tuple[ProducerEntry, ...] = field([ProducerEntry], "1+", default=())
