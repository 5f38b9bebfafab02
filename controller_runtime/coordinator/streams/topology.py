"""The topology of a streams group: subtopologies, the topics that each reads, and those that it needs for itself."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.coordinator.streams.record_shapes import TopologyValue
from controller_runtime.protocol.messages import streams_group_heartbeat_request as asked
from controller_runtime.protocol.messages.streams_group_topology_value import (
    CopartitionGroup,
    Subtopology,
    TopicConfig,
    TopicInfo,
)
from controller_runtime.values import dataclass


class BadTopology(Exception):
    """Two subtopologies of one name, or a negative epoch."""


@dataclass(frozen=True, slots=True)
class Topology:
    epoch: int
    subtopologies: Mapping[str, Subtopology]
    readers: Mapping[str, str]
    """Of each topic that is read, the subtopology."""
    required: frozenset[str]
    """Topics that are read, and those of states."""

    @classmethod
    def of(cls, value: TopologyValue) -> Topology:
        """Raises BadTopology."""
        subtopologies = {each.subtopology_id: each for each in value.subtopologies}
        if len(subtopologies) < len(value.subtopologies) or value.epoch < 0:
            raise BadTopology
        readers: dict[str, str] = {}
        for name, each in subtopologies.items():
            readers.update(dict.fromkeys(each.source_topics, name))
            readers.update((one.name, name) for one in each.repartition_source_topics)
        changelogs = (one.name for each in value.subtopologies for one in each.state_changelog_topics)
        return cls(value.epoch, subtopologies, readers, frozenset((*readers, *changelogs)))


def as_written(topology: asked.Topology) -> TopologyValue:
    return TopologyValue(epoch=topology.epoch, subtopologies=tuple(map(_subtopology, topology.subtopologies)))


def _subtopology(each: asked.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=each.subtopology_id,
        source_topics=each.source_topics,
        source_topic_regex=each.source_topic_regex,
        state_changelog_topics=tuple(map(_topic, each.state_changelog_topics)),
        repartition_sink_topics=each.repartition_sink_topics,
        repartition_source_topics=tuple(map(_topic, each.repartition_source_topics)),
        copartition_groups=tuple(
            CopartitionGroup(
                source_topics=one.source_topics,
                source_topic_regex=one.source_topic_regex,
                repartition_source_topics=one.repartition_source_topics,
            )
            for one in each.copartition_groups
        ),
    )


def _topic(each: asked.TopicInfo) -> TopicInfo:
    return TopicInfo(
        name=each.name,
        partitions=each.partitions,
        replication_factor=each.replication_factor,
        topic_configs=tuple(TopicConfig(key=one.key, value=one.value) for one in each.topic_configs),
    )


def names_in(topology: asked.Topology) -> list[str]:
    """All topics that it names, in its order, each once."""
    names: list[str] = []
    for each in topology.subtopologies:
        names += each.source_topics
        names += each.repartition_sink_topics
        names += (one.name for one in each.repartition_source_topics)
        names += (one.name for one in each.state_changelog_topics)
    return list(dict.fromkeys(names))
