# Generated from StreamsGroupDescribeResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupDescribeResponse: response, key 89, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, default_of, field


class KeyValue(Struct):
    key: str = field("string", "0+", default="")
    value: str = field("string", "0+", default="")


class TopicInfo(Struct):
    name: str = field("string", "0+", default="")
    partitions: int = field("int32", "0+", default=0)
    replication_factor: int = field("int16", "0+", default=0)
    topic_configs: tuple[KeyValue, ...] = field([KeyValue], "0+", default=())


class Subtopology(Struct):
    subtopology_id: str = field("string", "0+", default="")
    source_topics: tuple[str, ...] = field(["string"], "0+", default=())
    repartition_sink_topics: tuple[str, ...] = field(["string"], "0+", default=())
    state_changelog_topics: tuple[TopicInfo, ...] = field([TopicInfo], "0+", default=())
    repartition_source_topics: tuple[TopicInfo, ...] = field([TopicInfo], "0+", default=())


class Topology(Struct):
    epoch: int = field("int32", "0+", default=0)
    subtopologies: tuple[Subtopology, ...] | None = field([Subtopology], "0+", default=None, nullable="0+")


class Endpoint(Struct):
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class TaskOffset(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partition: int = field("int32", "0+", default=0)
    offset: int = field("int64", "0+", default=0)


class TaskIds(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class Assignment(Struct):
    active_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    standby_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    warmup_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())


class Member(Struct):
    member_id: str = field("string", "0+", default="")
    member_epoch: int = field("int32", "0+", default=0)
    instance_id: str | None = field("string", "0+", default=None, nullable="0+")
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    topology_epoch: int = field("int32", "0+", default=0)
    process_id: str = field("string", "0+", default="")
    user_endpoint: Endpoint | None = field(Endpoint, "0+", default=None, nullable="0+")
    client_tags: tuple[KeyValue, ...] = field([KeyValue], "0+", default=())
    task_offsets: tuple[TaskOffset, ...] = field([TaskOffset], "0+", default=())
    task_end_offsets: tuple[TaskOffset, ...] = field([TaskOffset], "0+", default=())
    assignment: Assignment = field(Assignment, "0+", default=default_of(Assignment))
    target_assignment: Assignment = field(Assignment, "0+", default=default_of(Assignment))
    is_classic: bool = field("bool", "0+", default=False)


class DescribedGroup(Struct):
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default=None, nullable="0+")
    group_id: str = field("string", "0+", default="")
    group_state: str = field("string", "0+", default="")
    group_epoch: int = field("int32", "0+", default=0)
    assignment_epoch: int = field("int32", "0+", default=0)
    topology: Topology | None = field(Topology, "0+", default=None, nullable="0+")
    members: tuple[Member, ...] = field([Member], "0+", default=())
    authorized_operations: int = field("int32", "0+", default=-2147483648)


class StreamsGroupDescribeResponse(Message, kind="response", valid="0", flexible="0+", key=89):
    throttle_time_ms: int = field("int32", "0+", default=0)
    groups: tuple[DescribedGroup, ...] = field([DescribedGroup], "0+", default=())
