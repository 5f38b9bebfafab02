# Generated from CreatePartitionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreatePartitionsRequest: request, key 37, versions 0-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class CreatePartitionsAssignment(Struct):
    broker_ids: tuple[int, ...] = field(["int32"], "0+", default=())


class CreatePartitionsTopic(Struct):
    name: str = field("string", "0+", default="")
    count: int = field("int32", "0+", default=0)
    assignments: tuple[CreatePartitionsAssignment, ...] | None = field([CreatePartitionsAssignment], "0+", default=(), nullable="0+")


class CreatePartitionsRequest(Message, kind="request", valid="0-3", flexible="2+", key=37, listeners=("broker", "controller")):
    topics: tuple[CreatePartitionsTopic, ...] = field([CreatePartitionsTopic], "0+", default=())
    timeout_ms: int = field("int32", "0+", default=0)
    validate_only: bool = field("bool", "0+", default=False)
