# Generated from DelegationTokenRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DelegationTokenRecord: metadata, key 10, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DelegationTokenRecord(Message, kind="metadata", valid="0", flexible="0+", key=10):
    owner: str = field("string", "0+", default="")
    requester: str = field("string", "0+", default="")
    renewers: tuple[str, ...] = field(["string"], "0+", default=())
    issue_timestamp: int = field("int64", "0+", default=0)
    max_timestamp: int = field("int64", "0+", default=0)
    expiration_timestamp: int = field("int64", "0+", default=0)
    token_id: str = field("string", "0+", default="")
