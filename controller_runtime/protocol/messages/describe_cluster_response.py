# Generated from DescribeClusterResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeClusterResponse: response, key 60, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class DescribeClusterBroker(Struct):
    broker_id: int = field("int32", "0+", default=0)
    host: str = field("string", "0+", default="")
    port: int = field("int32", "0+", default=0)
    rack: str | None = field("string", "0+", default=None, nullable="0+")
    is_fenced: bool = field("bool", "2+", default=False)


class DescribeClusterResponse(Message, kind="response", valid="0-2", flexible="0+", key=60):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    endpoint_type: int = field("int8", "1+", default=1)
    cluster_id: str = field("string", "0+", default="")
    controller_id: int = field("int32", "0+", default=-1)
    brokers: tuple[DescribeClusterBroker, ...] = field([DescribeClusterBroker], "0+", default=())
    cluster_authorized_operations: int = field("int32", "0+", default=-2147483648)
