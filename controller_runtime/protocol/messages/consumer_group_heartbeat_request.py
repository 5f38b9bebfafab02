# Generated from ConsumerGroupHeartbeatRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupHeartbeatRequest: request, key 68, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ConsumerGroupHeartbeatRequest(Message, kind="request", valid="0-1", flexible="0+", key=68, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    member_id: str = field("string", "0+", default="")
    member_epoch: int = field("int32", "0+", default=0)
    instance_id: str | None = field("string", "0+", default=None, nullable="0+")
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field("int32", "0+", default=-1)
    subscribed_topic_names: tuple[str, ...] | None = field(["string"], "0+", default=None, nullable="0+")
    subscribed_topic_regex: str | None = field("string", "1+", default=None, nullable="1+")
    server_assignor: str | None = field("string", "0+", default=None, nullable="0+")
    topic_partitions: tuple[TopicPartitions, ...] | None = field([TopicPartitions], "0+", default=None, nullable="0+")
