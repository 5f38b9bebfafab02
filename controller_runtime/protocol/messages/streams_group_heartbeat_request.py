# Generated from StreamsGroupHeartbeatRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupHeartbeatRequest: request, key 88, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class KeyValue(Struct):
    key: str = field("string", "0+", default="")
    value: str = field("string", "0+", default="")


class TopicInfo(Struct):
    name: str = field("string", "0+", default="")
    partitions: int = field("int32", "0+", default=0)
    replication_factor: int = field("int16", "0+", default=0)
    topic_configs: tuple[KeyValue, ...] = field([KeyValue], "0+", default=())


class CopartitionGroup(Struct):
    source_topics: tuple[int, ...] = field(["int16"], "0+", default=())
    source_topic_regex: tuple[int, ...] = field(["int16"], "0+", default=())
    repartition_source_topics: tuple[int, ...] = field(["int16"], "0+", default=())


class Subtopology(Struct):
    subtopology_id: str = field("string", "0+", default="")
    source_topics: tuple[str, ...] = field(["string"], "0+", default=())
    source_topic_regex: tuple[str, ...] = field(["string"], "0+", default=())
    state_changelog_topics: tuple[TopicInfo, ...] = field([TopicInfo], "0+", default=())
    repartition_sink_topics: tuple[str, ...] = field(["string"], "0+", default=())
    repartition_source_topics: tuple[TopicInfo, ...] = field([TopicInfo], "0+", default=())
    copartition_groups: tuple[CopartitionGroup, ...] = field([CopartitionGroup], "0+", default=())


class Topology(Struct):
    epoch: int = field("int32", "0+", default=0)
    subtopologies: tuple[Subtopology, ...] = field([Subtopology], "0+", default=())


class TaskIds(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class Endpoint(Struct):
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class TaskOffset(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partition: int = field("int32", "0+", default=0)
    offset: int = field("int64", "0+", default=0)


class StreamsGroupHeartbeatRequest(Message, kind="request", valid="0", flexible="0+", key=88, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    member_id: str = field("string", "0+", default="")
    member_epoch: int = field("int32", "0+", default=0)
    endpoint_information_epoch: int = field("int32", "0+", default=0)
    instance_id: str | None = field("string", "0+", default=None, nullable="0+")
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field("int32", "0+", default=-1)
    topology: Topology | None = field(Topology, "0+", default=None, nullable="0+")
    active_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    standby_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    warmup_tasks: tuple[TaskIds, ...] | None = field([TaskIds], "0+", default=None, nullable="0+")
    process_id: str | None = field("string", "0+", default=None, nullable="0+")
    user_endpoint: Endpoint | None = field(Endpoint, "0+", default=None, nullable="0+")
    client_tags: tuple[KeyValue, ...] | None = field([KeyValue], "0+", default=None, nullable="0+")
    task_offsets: tuple[TaskOffset, ...] | None = field([TaskOffset], "0+", default=None, nullable="0+")
    task_end_offsets: tuple[TaskOffset, ...] | None = field([TaskOffset], "0+", default=None, nullable="0+")
    shutdown_application: bool = field("bool", "0+", default=False)
