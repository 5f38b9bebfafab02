# Generated from DescribeConfigsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeConfigsResponse: response, key 32, versions 1-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeConfigsSynonym(Struct):
    name: str = field("string", "1+", default="")
    value: str | None = field("string", "1+", default="", nullable="0+")
    source: int = field("int8", "1+", default=0)


class DescribeConfigsResourceResult(Struct):
    name: str = field("string", "0+", default="")
    value: str | None = field("string", "0+", default="", nullable="0+")
    read_only: bool = field("bool", "0+", default=False)
    config_source: int = field("int8", "1+", default=-1, ignorable=True)
    is_sensitive: bool = field("bool", "0+", default=False)
    synonyms: tuple[DescribeConfigsSynonym, ...] = field([DescribeConfigsSynonym], "1+", default=(), ignorable=True)
    config_type: int = field("int8", "3+", default=0, ignorable=True)
    documentation: str | None = field("string", "3+", default="", nullable="0+", ignorable=True)


class DescribeConfigsResult(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    resource_type: int = field("int8", "0+", default=0)
    resource_name: str = field("string", "0+", default="")
    configs: tuple[DescribeConfigsResourceResult, ...] = field([DescribeConfigsResourceResult], "0+", default=())


class DescribeConfigsResponse(Message, kind="response", valid="1-4", flexible="4+", key=32):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[DescribeConfigsResult, ...] = field([DescribeConfigsResult], "0+", default=())
