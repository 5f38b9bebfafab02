# Generated from StreamsGroupHeartbeatResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupHeartbeatResponse: response, key 88, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, default_of, field


class Status(Struct):
    status_code: int = field("int8", "0+", default=0)
    status_detail: str = field("string", "0+", default="")


class TaskIds(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class Endpoint(Struct):
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class TopicPartition(Struct):
    topic: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class EndpointToPartitions(Struct):
    user_endpoint: Endpoint = field(Endpoint, "0+", default=default_of(Endpoint))
    active_partitions: tuple[TopicPartition, ...] = field([TopicPartition], "0+", default=())
    standby_partitions: tuple[TopicPartition, ...] = field([TopicPartition], "0+", default=())


class StreamsGroupHeartbeatResponse(Message, kind="response", valid="0", flexible="0+", key=88):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    member_id: str = field("string", "0+", default="")
    member_epoch: int = field("int32", "0+", default=0)
    heartbeat_interval_ms: int = field("int32", "0+", default=0)
    acceptable_recovery_lag: int = field("int32", "0+", default=0)
    task_offset_interval_ms: int = field("int32", "0+", default=0)
    status: tuple[Status, ...] | None = field([Status], "0+", default=(), nullable="0+")
    active_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    standby_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    warmup_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    endpoint_information_epoch: int = field("int32", "0+", default=0)
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = field([EndpointToPartitions], "0+", default=None, nullable="0+")
