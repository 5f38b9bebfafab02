# Generated from ShareGroupCurrentMemberAssignmentValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupCurrentMemberAssignmentValue: coordinator-value, key 14, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ShareGroupCurrentMemberAssignmentValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=14):
    member_epoch: int = field("int32", "0+", default=0)
    previous_member_epoch: int = field("int32", "0+", default=0)
    state: int = field("int8", "0+", default=0)
    assigned_partitions: tuple[TopicPartitions, ...] = field([TopicPartitions], "0+", default=())
