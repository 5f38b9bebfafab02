# Generated from OffsetCommitKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetCommitKey: coordinator-key, key 1, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class OffsetCommitKey(Message, kind="coordinator-key", valid="0", flexible="none", key=1):
    group: str = field("string", "0", default="")
    topic: str = field("string", "0", default="")
    partition: int = field("int32", "0", default=0)
