# Generated from DeleteGroupsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteGroupsRequest: request, key 42, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DeleteGroupsRequest(Message, kind="request", valid="0-2", flexible="2+", key=42, listeners=("broker",)):
    groups_names: tuple[str, ...] = field(["string"], "0+", default=())
