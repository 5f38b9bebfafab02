# Generated from ConsumerGroupRegularExpressionKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupRegularExpressionKey: coordinator-key, key 16, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupRegularExpressionKey(Message, kind="coordinator-key", valid="0", flexible="none", key=16):
    group_id: str = field("string", "0", default="")
    regular_expression: str = field("string", "0", default="")
