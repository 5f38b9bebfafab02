# Generated from RenewDelegationTokenRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RenewDelegationTokenRequest: request, key 39, versions 1-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class RenewDelegationTokenRequest(Message, kind="request", valid="1-2", flexible="2+", key=39, listeners=("broker", "controller")):
    hmac: bytes = field("bytes", "0+", default=b"")
    renew_period_ms: int = field("int64", "0+", default=0)
