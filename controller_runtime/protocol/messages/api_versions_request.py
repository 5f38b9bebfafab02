# Generated from ApiVersionsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ApiVersionsRequest: request, key 18, versions 0-4, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ApiVersionsRequest(Message, kind="request", valid="0-4", flexible="3+", key=18, listeners=("broker", "controller")):
    client_software_name: str = field("string", "3+", default="", ignorable=True)
    client_software_version: str = field("string", "3+", default="", ignorable=True)
