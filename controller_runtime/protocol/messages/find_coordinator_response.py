# Generated from FindCoordinatorResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FindCoordinatorResponse: response, key 10, versions 0-6, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class Coordinator(Struct):
    key: str = field("string", "4+", default="")
    node_id: int = field("int32", "4+", default=0)
    host: str = field("string", "4+", default="")
    port: int = field("int32", "4+", default=0)
    error_code: int = field("int16", "4+", default=0)
    error_message: str | None = field("string", "4+", default="", nullable="4+", ignorable=True)


class FindCoordinatorResponse(Message, kind="response", valid="0-6", flexible="3+", key=10):
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    error_code: int = field("int16", "0-3", default=0)
    error_message: str | None = field("string", "1-3", default="", nullable="1-3", ignorable=True)
    node_id: int = field("int32", "0-3", default=0)
    host: str = field("string", "0-3", default="")
    port: int = field("int32", "0-3", default=0)
    coordinators: tuple[Coordinator, ...] = field([Coordinator], "4+", default=())
