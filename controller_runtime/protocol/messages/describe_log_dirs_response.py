# Generated from DescribeLogDirsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeLogDirsResponse: response, key 35, versions 1-5, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeLogDirsPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    partition_size: int = field("int64", "0+", default=0)
    offset_lag: int = field("int64", "0+", default=0)
    is_future_key: bool = field("bool", "0+", default=False)


class DescribeLogDirsTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[DescribeLogDirsPartition, ...] = field([DescribeLogDirsPartition], "0+", default=())


class DescribeLogDirsResult(Struct):
    error_code: int = field("int16", "0+", default=0)
    log_dir: str = field("string", "0+", default="")
    topics: tuple[DescribeLogDirsTopic, ...] = field([DescribeLogDirsTopic], "0+", default=())
    total_bytes: int = field("int64", "4+", default=-1, ignorable=True)
    usable_bytes: int = field("int64", "4+", default=-1, ignorable=True)
    is_cordoned: bool = field("bool", "5+", default=False)


class DescribeLogDirsResponse(Message, kind="response", valid="1-5", flexible="2+", key=35):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "3+", default=0, ignorable=True)
    results: tuple[DescribeLogDirsResult, ...] = field([DescribeLogDirsResult], "0+", default=())
