# Generated from MetadataResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""MetadataResponse: response, key 3, versions 0-13, flexible 9+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class MetadataResponseBroker(Struct):
    node_id: int = field("int32", "0+", default=0)
    host: str = field("string", "0+", default="")
    port: int = field("int32", "0+", default=0)
    rack: str | None = field("string", "1+", default=None, nullable="1+", ignorable=True)


class MetadataResponsePartition(Struct):
    error_code: int = field("int16", "0+", default=0)
    partition_index: int = field("int32", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "7+", default=-1, ignorable=True)
    replica_nodes: tuple[int, ...] = field(["int32"], "0+", default=())
    isr_nodes: tuple[int, ...] = field(["int32"], "0+", default=())
    offline_replicas: tuple[int, ...] = field(["int32"], "5+", default=(), ignorable=True)


class MetadataResponseTopic(Struct):
    error_code: int = field("int16", "0+", default=0)
    name: str | None = field("string", "0+", default="", nullable="12+")
    topic_id: Uuid = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = field("bool", "1+", default=False, ignorable=True)
    partitions: tuple[MetadataResponsePartition, ...] = field([MetadataResponsePartition], "0+", default=())
    topic_authorized_operations: int = field("int32", "8+", default=-2147483648)


class MetadataResponse(Message, kind="response", valid="0-13", flexible="9+", key=3):
    throttle_time_ms: int = field("int32", "3+", default=0, ignorable=True)
    brokers: tuple[MetadataResponseBroker, ...] = field([MetadataResponseBroker], "0+", default=())
    cluster_id: str | None = field("string", "2+", default=None, nullable="2+", ignorable=True)
    controller_id: int = field("int32", "1+", default=-1, ignorable=True)
    topics: tuple[MetadataResponseTopic, ...] = field([MetadataResponseTopic], "0+", default=())
    cluster_authorized_operations: int = field("int32", "8-10", default=-2147483648)
    error_code: int = field("int16", "13+", default=0, ignorable=True)
