# Generated from CreateTopicsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreateTopicsRequest: request, key 19, versions 2-7, flexible 5+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class CreatableReplicaAssignment(Struct):
    partition_index: int = field("int32", "0+", default=0)
    broker_ids: tuple[int, ...] = field(["int32"], "0+", default=())


class CreatableTopicConfig(Struct):
    name: str = field("string", "0+", default="")
    value: str | None = field("string", "0+", default="", nullable="0+")


class CreatableTopic(Struct):
    name: str = field("string", "0+", default="")
    num_partitions: int = field("int32", "0+", default=0)
    replication_factor: int = field("int16", "0+", default=0)
    assignments: tuple[CreatableReplicaAssignment, ...] = field([CreatableReplicaAssignment], "0+", default=())
    configs: tuple[CreatableTopicConfig, ...] = field([CreatableTopicConfig], "0+", default=())


class CreateTopicsRequest(Message, kind="request", valid="2-7", flexible="5+", key=19, listeners=("broker", "controller")):
    topics: tuple[CreatableTopic, ...] = field([CreatableTopic], "0+", default=())
    timeout_ms: int = field("int32", "0+", default=60000)
    validate_only: bool = field("bool", "1+", default=False)
