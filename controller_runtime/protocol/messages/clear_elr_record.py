# Generated from ClearElrRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ClearElrRecord: metadata, key 28, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ClearElrRecord(Message, kind="metadata", valid="0", flexible="0+", key=28):
    topic_name: str = field("string", "0+", default="")
