# Generated from ConsumerGroupRegularExpressionValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupRegularExpressionValue: coordinator-value, key 16, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupRegularExpressionValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=16):
    topics: tuple[str, ...] = field(["string"], "0+", default=())
    version: int = field("int64", "0+", default=0)
    timestamp: int = field("int64", "0+", default=0)
