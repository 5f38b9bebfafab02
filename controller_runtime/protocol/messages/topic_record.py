# Generated from TopicRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""TopicRecord: metadata, key 2, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class TopicRecord(Message, kind="metadata", valid="0", flexible="0+", key=2):
    name: str = field("string", "0+", default="")
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
