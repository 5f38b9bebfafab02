# Generated from ControlRecordTypeSchema in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ControlRecordTypeSchema: data, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ControlRecordTypeSchema(Message, kind="data", valid="0", flexible="none"):
    type: int = field("int16", "0+", default=0)
