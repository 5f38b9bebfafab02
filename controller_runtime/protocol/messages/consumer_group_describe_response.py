# Generated from ConsumerGroupDescribeResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupDescribeResponse: response, key 69, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class Assignment(Struct):
    topic_partitions: tuple[TopicPartitions, ...] = field([TopicPartitions], "0+", default=())


class Member(Struct):
    member_id: str = field("string", "0+", default="")
    instance_id: str | None = field("string", "0+", default=None, nullable="0+")
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    member_epoch: int = field("int32", "0+", default=0)
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    subscribed_topic_names: tuple[str, ...] = field(["string"], "0+", default=())
    subscribed_topic_regex: str | None = field("string", "0+", default=None, nullable="0+")
    assignment: Assignment = field(Assignment, "0+", default=default_of(Assignment))
    target_assignment: Assignment = field(Assignment, "0+", default=default_of(Assignment))
    member_type: int = field("int8", "1+", default=-1, ignorable=True)


class DescribedGroup(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    group_id: str = field("string", "0+", default="")
    group_state: str = field("string", "0+", default="")
    group_epoch: int = field("int32", "0+", default=0)
    assignment_epoch: int = field("int32", "0+", default=0)
    assignor_name: str = field("string", "0+", default="")
    members: tuple[Member, ...] = field([Member], "0+", default=())
    authorized_operations: int = field("int32", "0+", default=-2147483648)


class ConsumerGroupDescribeResponse(Message, kind="response", valid="0-1", flexible="0+", key=69):
    throttle_time_ms: int = field("int32", "0+", default=0)
    groups: tuple[DescribedGroup, ...] = field([DescribedGroup], "0+", default=())
