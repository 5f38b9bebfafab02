# Generated from DescribeUserScramCredentialsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeUserScramCredentialsResponse: response, key 50, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class CredentialInfo(Struct):
    mechanism: int = field("int8", "0+", default=0)
    iterations: int = field("int32", "0+", default=0)


class DescribeUserScramCredentialsResult(Struct):
    user: str = field("string", "0+", default="")
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    credential_infos: tuple[CredentialInfo, ...] = field([CredentialInfo], "0+", default=())


class DescribeUserScramCredentialsResponse(Message, kind="response", valid="0", flexible="0+", key=50):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    results: tuple[DescribeUserScramCredentialsResult, ...] = field([DescribeUserScramCredentialsResult], "0+", default=())
