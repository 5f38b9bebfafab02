# Generated from DescribeGroupsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeGroupsRequest: request, key 15, versions 0-6, flexible 5+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DescribeGroupsRequest(Message, kind="request", valid="0-6", flexible="5+", key=15, listeners=("broker",)):
    groups: tuple[str, ...] = field(["string"], "0+", default=())
    include_authorized_operations: bool = field("bool", "3+", default=False)
