# Generated from ListGroupsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ListGroupsRequest: request, key 16, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ListGroupsRequest(Message, kind="request", valid="0-5", flexible="3+", key=16, listeners=("broker",)):
    states_filter: tuple[str, ...] = field(["string"], "4+", default=())
    types_filter: tuple[str, ...] = field(["string"], "5+", default=())
