# Generated from ConsumerGroupDescribeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupDescribeRequest: request, key 69, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ConsumerGroupDescribeRequest(Message, kind="request", valid="0-1", flexible="0+", key=69, listeners=("broker",)):
    group_ids: tuple[str, ...] = field(["string"], "0+", default=())
    include_authorized_operations: bool = field("bool", "0+", default=False)
