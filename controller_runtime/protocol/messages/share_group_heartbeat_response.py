# Generated from ShareGroupHeartbeatResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupHeartbeatResponse: response, key 76, versions 1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class Assignment(Struct):
    topic_partitions: tuple[TopicPartitions, ...] = field([TopicPartitions], "0+", default=())


class ShareGroupHeartbeatResponse(Message, kind="response", valid="1", flexible="0+", key=76):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    member_id: str | None = field("string", "0+", default=None, nullable="0+")
    member_epoch: int = field("int32", "0+", default=0)
    heartbeat_interval_ms: int = field("int32", "0+", default=0)
    assignment: Assignment | None = field(Assignment, "0+", default=None, nullable="0+")
