# Generated from DescribeClusterRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DescribeClusterRequest: request, key 60, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class DescribeClusterRequest(Message, kind="request", valid="0-2", flexible="0+", key=60, listeners=("broker", "controller")):
    include_cluster_authorized_operations: bool = field("bool", "0+", default=False)
    endpoint_type: int = field("int8", "1+", default=1)
    include_fenced_brokers: bool = field("bool", "2+", default=False)
