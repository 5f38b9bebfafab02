# Generated from RemoveTopicRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveTopicRecord: metadata, key 9, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class RemoveTopicRecord(Message, kind="metadata", valid="0", flexible="0+", key=9):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
