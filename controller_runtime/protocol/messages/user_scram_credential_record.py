# Generated from UserScramCredentialRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UserScramCredentialRecord: metadata, key 11, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class UserScramCredentialRecord(Message, kind="metadata", valid="0", flexible="0+", key=11):
    name: str = field("string", "0+", default="")
    mechanism: int = field("int8", "0+", default=0)
    salt: bytes = field("bytes", "0+", default=b"")
    stored_key: bytes = field("bytes", "0+", default=b"")
    server_key: bytes = field("bytes", "0+", default=b"")
    iterations: int = field("int32", "0+", default=0)
