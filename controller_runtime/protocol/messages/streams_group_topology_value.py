# Generated from StreamsGroupTopologyValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupTopologyValue: coordinator-value, key 23, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TopicConfig(Struct):
    key: str = field("string", "0+", default="")
    value: str = field("string", "0+", default="")


class TopicInfo(Struct):
    name: str = field("string", "0+", default="")
    partitions: int = field("int32", "0+", default=0)
    replication_factor: int = field("int16", "0+", default=0)
    topic_configs: tuple[TopicConfig, ...] = field([TopicConfig], "0+", default=())


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


class StreamsGroupTopologyValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=23):
    epoch: int = field("int32", "0+", default=0)
    subtopologies: tuple[Subtopology, ...] = field([Subtopology], "0+", default=())
