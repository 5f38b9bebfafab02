# Generated from AlterUserScramCredentialsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterUserScramCredentialsRequest: request, key 51, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ScramCredentialDeletion(Struct):
    name: str = field("string", "0+", default="")
    mechanism: int = field("int8", "0+", default=0)


class ScramCredentialUpsertion(Struct):
    name: str = field("string", "0+", default="")
    mechanism: int = field("int8", "0+", default=0)
    iterations: int = field("int32", "0+", default=0)
    salt: bytes = field("bytes", "0+", default=b"")
    salted_password: bytes = field("bytes", "0+", default=b"")


class AlterUserScramCredentialsRequest(Message, kind="request", valid="0", flexible="0+", key=51, listeners=("broker", "controller")):
    deletions: tuple[ScramCredentialDeletion, ...] = field([ScramCredentialDeletion], "0+", default=())
    upsertions: tuple[ScramCredentialUpsertion, ...] = field([ScramCredentialUpsertion], "0+", default=())
