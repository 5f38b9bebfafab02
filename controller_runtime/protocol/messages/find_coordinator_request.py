# Generated from FindCoordinatorRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FindCoordinatorRequest: request, key 10, versions 0-6, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class FindCoordinatorRequest(Message, kind="request", valid="0-6", flexible="3+", key=10, listeners=("broker",)):
    key: str = field("string", "0-3", default="")
    key_type: int = field("int8", "1+", default=0)
    coordinator_keys: tuple[str, ...] = field(["string"], "4+", default=())
