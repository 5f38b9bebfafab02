# Generated from ShareUpdateKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareUpdateKey: coordinator-key, key 1, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class ShareUpdateKey(Message, kind="coordinator-key", valid="0", flexible="none", key=1):
    group_id: str = field("string", "0", default="")
    topic_id: Uuid = field("uuid", "0", default=ZERO_UUID)
    partition: int = field("int32", "0", default=0)
