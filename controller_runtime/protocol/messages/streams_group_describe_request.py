# Generated from StreamsGroupDescribeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupDescribeRequest: request, key 89, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class StreamsGroupDescribeRequest(Message, kind="request", valid="0", flexible="0+", key=89, listeners=("broker",)):
    group_ids: tuple[str, ...] = field(["string"], "0+", default=())
    include_authorized_operations: bool = field("bool", "0+", default=False)
