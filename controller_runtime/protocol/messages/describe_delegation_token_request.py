# Generated from DescribeDelegationTokenRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeDelegationTokenRequest: request, key 41, versions 1-3, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeDelegationTokenOwner(Struct):
    principal_type: str = field("string", "0+", default="")
    principal_name: str = field("string", "0+", default="")


class DescribeDelegationTokenRequest(Message, kind="request", valid="1-3", flexible="2+", key=41, listeners=("broker", "controller")):
    owners: tuple[DescribeDelegationTokenOwner, ...] | None = field([DescribeDelegationTokenOwner], "0+", default=(), nullable="0+")
