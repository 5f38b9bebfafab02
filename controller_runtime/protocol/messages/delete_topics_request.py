# Generated from DeleteTopicsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteTopicsRequest: request, key 20, versions 1-6, flexible 4+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class DeleteTopicState(Struct):
    name: str | None = field("string", "6+", default=None, nullable="6+")
    topic_id: Uuid = field("uuid", "6+", default=ZERO_UUID)


class DeleteTopicsRequest(Message, kind="request", valid="1-6", flexible="4+", key=20, listeners=("broker", "controller")):
    topics: tuple[DeleteTopicState, ...] = field([DeleteTopicState], "6+", default=())
    topic_names: tuple[str, ...] = field(["string"], "0-5", default=(), ignorable=True)
    timeout_ms: int = field("int32", "0+", default=0)
