# Generated from DescribeDelegationTokenResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeDelegationTokenResponse: response, key 41, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribedDelegationTokenRenewer(Struct):
    principal_type: str = field("string", "0+", default="")
    principal_name: str = field("string", "0+", default="")


class DescribedDelegationToken(Struct):
    principal_type: str = field("string", "0+", default="")
    principal_name: str = field("string", "0+", default="")
    token_requester_principal_type: str = field("string", "3+", default="")
    token_requester_principal_name: str = field("string", "3+", default="")
    issue_timestamp: int = field("int64", "0+", default=0)
    expiry_timestamp: int = field("int64", "0+", default=0)
    max_timestamp: int = field("int64", "0+", default=0)
    token_id: str = field("string", "0+", default="")
    hmac: bytes = field("bytes", "0+", default=b"")
    renewers: tuple[DescribedDelegationTokenRenewer, ...] = field([DescribedDelegationTokenRenewer], "0+", default=())


class DescribeDelegationTokenResponse(Message, kind="response", valid="1-3", flexible="2+", key=41):
    error_code: int = field("int16", "0+", default=0)
    tokens: tuple[DescribedDelegationToken, ...] = field([DescribedDelegationToken], "0+", default=())
    throttle_time_ms: int = field("int32", "0+", default=0)
