# Generated from CreateDelegationTokenRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreateDelegationTokenRequest: request, key 38, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class CreatableRenewers(Struct):
    principal_type: str = field("string", "0+", default="")
    principal_name: str = field("string", "0+", default="")


class CreateDelegationTokenRequest(Message, kind="request", valid="1-3", flexible="2+", key=38, listeners=("broker", "controller")):
    owner_principal_type: str | None = field("string", "3+", default="", nullable="3+")
    owner_principal_name: str | None = field("string", "3+", default="", nullable="3+")
    renewers: tuple[CreatableRenewers, ...] = field([CreatableRenewers], "0+", default=())
    max_lifetime_ms: int = field("int64", "0+", default=0)
