# Generated from RenewDelegationTokenResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RenewDelegationTokenResponse: response, key 39, versions 1-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RenewDelegationTokenResponse(Message, kind="response", valid="1-2", flexible="2+", key=39):
    error_code: int = field("int16", "0+", default=0)
    expiry_timestamp_ms: int = field("int64", "0+", default=0)
    throttle_time_ms: int = field("int32", "0+", default=0)
