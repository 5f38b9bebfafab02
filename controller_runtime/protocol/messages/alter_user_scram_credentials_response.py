# Generated from AlterUserScramCredentialsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterUserScramCredentialsResponse: response, key 51, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterUserScramCredentialsResult(Struct):
    user: str = field("string", "0+", default="")
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")


class AlterUserScramCredentialsResponse(Message, kind="response", valid="0", flexible="0+", key=51):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[AlterUserScramCredentialsResult, ...] = field([AlterUserScramCredentialsResult], "0+", default=())
