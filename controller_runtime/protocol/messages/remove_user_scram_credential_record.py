# Generated from RemoveUserScramCredentialRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveUserScramCredentialRecord: metadata, key 22, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RemoveUserScramCredentialRecord(Message, kind="metadata", valid="0", flexible="0+", key=22):
    name: str = field("string", "0+", default="")
    mechanism: int = field("int8", "0+", default=0)
