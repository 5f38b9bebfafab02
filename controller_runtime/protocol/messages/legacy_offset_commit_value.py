# Generated from LegacyOffsetCommitValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""LegacyOffsetCommitValue: coordinator-value, key 0, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class LegacyOffsetCommitValue(Message, kind="coordinator-value", valid="0", flexible="none", key=0):
    offset: int = field("int64", "0", default=0)
    metadata: str = field("string", "0", default="")
    commit_timestamp: int = field("int64", "0", default=0)
