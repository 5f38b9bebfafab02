# Generated from ConsumerGroupCurrentMemberAssignmentValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupCurrentMemberAssignmentValue: coordinator-value, key 8, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())
    assignment_epochs: tuple[int, ...] | None = field(["int32"], "0+", default=(), nullable="0+", tag=0, tagged="0+")


class ConsumerGroupCurrentMemberAssignmentValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=8):
    member_epoch: int = field("int32", "0+", default=0)
    previous_member_epoch: int = field("int32", "0+", default=0)
    state: int = field("int8", "0+", default=0)
    assigned_partitions: tuple[TopicPartitions, ...] = field([TopicPartitions], "0+", default=())
    partitions_pending_revocation: tuple[TopicPartitions, ...] = field([TopicPartitions], "0+", default=())
