"""Whether a streams group's topics are as its topology needs them, and what is to be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.streams.java_order import hash_order
from controller_runtime.coordinator.streams.partition_counts import (
    Counts,
    Status,
    Unready,
    decide,
    sources_of,
    summary,
)
from controller_runtime.coordinator.streams.topology import Topology
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from controller_runtime.protocol.messages.streams_group_topology_value import Subtopology, TopicInfo
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class InternalTopic:
    name: str
    partitions: int
    replication_factor: int
    """0: as the cluster's default says."""
    configs: Mapping[str, str]

    def to_create(self) -> CreatableTopic:
        return CreatableTopic(
            name=self.name,
            num_partitions=self.partitions,
            replication_factor=self.replication_factor or -1,
            configs=tuple(CreatableTopicConfig(name=name, value=text) for name, text in self.configs.items()),
        )


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    tasks: int
    """As many as the largest topic that it reads has partitions."""
    sources: frozenset[str]
    sinks: frozenset[str]
    repartitions: Mapping[str, InternalTopic]
    """That it reads."""
    changelogs: Mapping[str, InternalTopic]


@dataclass(frozen=True, slots=True)
class Configured:
    """A topology, made of the topics as they are."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    """None: its topics are not such that anything could be made of it."""
    to_make: Mapping[str, CreatableTopic] = field(default_factory=dict)
    """In Java's order."""
    problem: Unready | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def configure(topology: Topology, image: MetadataImage) -> Configured:
    """Raises Refused for a topology that can never be right."""
    try:
        counts = decide(topology, image)
        found = {each: _configured(topology.subtopologies[each], counts) for each in sorted(topology.subtopologies)}
        missing = _missing(found, topology, image)
    except Unready as unready:
        return Configured(topology.epoch, None, {}, unready)
    if not missing:
        return Configured(topology.epoch, found)
    words = f"Internal topics are missing: {summary(missing)}"
    return Configured(topology.epoch, found, missing, Unready(Status.MISSING_INTERNAL_TOPICS, words))


def _configured(subtopology: Subtopology, counts: Counts) -> ConfiguredSubtopology:
    tasks = max(map(counts.known, sources_of(subtopology)))
    if tasks <= 0:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    return ConfiguredSubtopology(
        tasks,
        frozenset(subtopology.source_topics),
        frozenset(subtopology.repartition_sink_topics),
        _internal(subtopology.repartition_source_topics, counts),
        _internal(subtopology.state_changelog_topics, counts),
    )


def _internal(topics: Iterable[TopicInfo], counts: Counts) -> dict[str, InternalTopic]:
    found: dict[str, InternalTopic] = {}
    for each in topics:
        configs = {one.key: one.value for one in each.topic_configs}
        if each.name in found or len(configs) < len(each.topic_configs):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        partitions = each.partitions or counts.decided.get(each.name)
        if not partitions:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        found[each.name] = InternalTopic(each.name, partitions, each.replication_factor, configs)
    return found


def _missing(
    subtopologies: Mapping[str, ConfiguredSubtopology], topology: Topology, image: MetadataImage
) -> dict[str, CreatableTopic]:
    wanted: dict[str, CreatableTopic] = {}
    for each in subtopologies.values():
        for topics in (each.repartitions, each.changelogs):
            wanted.update((one.name, one.to_create()) for one in topics.values())
    in_order = hash_order(wanted)
    for name in hash_order(topology.required):
        topic = image.topics.named(name)
        expected = None if topic is None else wanted.pop(name, None)
        if topic is not None and expected is not None and topic.partition_count != expected.num_partitions:
            words = (
                f"Existing topic {name} has different number of partitions: expected {expected.num_partitions}, found "
                f"{topic.partition_count}"
            )
            raise Unready(Status.INCORRECTLY_PARTITIONED_TOPICS, words)
    return {name: wanted[name] for name in in_order if name in wanted}
