# Generated from DescribeUserScramCredentialsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeUserScramCredentialsRequest: request, key 50, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class UserName(Struct):
    name: str = field("string", "0+", default="")


class DescribeUserScramCredentialsRequest(Message, kind="request", valid="0", flexible="0+", key=50, listeners=("broker", "controller")):
    users: tuple[UserName, ...] | None = field([UserName], "0+", default=(), nullable="0+")
