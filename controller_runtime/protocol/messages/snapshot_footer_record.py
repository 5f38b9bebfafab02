# Generated from SnapshotFooterRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""SnapshotFooterRecord: data, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class SnapshotFooterRecord(Message, kind="data", valid="0", flexible="0+"):
    version: int = field("int16", "0+", default=0)
