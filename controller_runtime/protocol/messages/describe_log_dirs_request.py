# Generated from DescribeLogDirsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeLogDirsRequest: request, key 35, versions 1-5, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribableLogDirTopic(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class DescribeLogDirsRequest(Message, kind="request", valid="1-5", flexible="2+", key=35, listeners=("broker",)):
    topics: tuple[DescribableLogDirTopic, ...] | None = field([DescribableLogDirTopic], "0+", default=(), nullable="0+")
