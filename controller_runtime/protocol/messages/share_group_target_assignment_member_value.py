# Generated from ShareGroupTargetAssignmentMemberValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupTargetAssignmentMemberValue: coordinator-value, key 13, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartition(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ShareGroupTargetAssignmentMemberValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=13):
    topic_partitions: tuple[TopicPartition, ...] = field([TopicPartition], "0+", default=())
