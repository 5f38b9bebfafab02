# Generated from SnapshotHeaderRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SnapshotHeaderRecord: data, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SnapshotHeaderRecord(Message, kind="data", valid="0", flexible="0+"):
    version: int = field("int16", "0+", default=0)
    last_contained_log_timestamp: int = field("int64", "0+", default=0)
