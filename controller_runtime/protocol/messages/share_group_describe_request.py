# Generated from ShareGroupDescribeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupDescribeRequest: request, key 77, versions 1, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupDescribeRequest(Message, kind="request", valid="1", flexible="0+", key=77, listeners=("broker",)):
    group_ids: tuple[str, ...] = field(["string"], "0+", default=())
    include_authorized_operations: bool = field("bool", "0+", default=False)
