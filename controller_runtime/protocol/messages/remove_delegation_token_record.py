# Generated from RemoveDelegationTokenRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveDelegationTokenRecord: metadata, key 26, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RemoveDelegationTokenRecord(Message, kind="metadata", valid="0", flexible="0+", key=26):
    token_id: str = field("string", "0+", default="")
