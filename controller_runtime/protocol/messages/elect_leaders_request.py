# Generated from ElectLeadersRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ElectLeadersRequest: request, key 43, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ElectLeadersRequest(Message, kind="request", valid="0-2", flexible="2+", key=43, listeners=("broker", "controller")):
    election_type: int = field("int8", "1+", default=0)
    topic_partitions: tuple[TopicPartitions, ...] | None = field([TopicPartitions], "0+", default=(), nullable="0+")
    timeout_ms: int = field("int32", "0+", default=60000)
