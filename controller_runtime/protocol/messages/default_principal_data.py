# Generated from DefaultPrincipalData in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DefaultPrincipalData: data, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DefaultPrincipalData(Message, kind="data", valid="0", flexible="0+"):
    type: str = field("string", "0+", default="")
    name: str = field("string", "0+", default="")
    token_authenticated: bool = field("bool", "0+", default=False)
