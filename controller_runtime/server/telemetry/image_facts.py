"""What the committed image of the cluster holds, as numbers for metrics.

Counting a hundred thousand partitions takes long enough to be noticed by a quorum, so `ImageCounter` counts a topic
once: an image shares what did not change with the one before it. The first count of many topics belongs into a thread;
images never change, so it may be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.values import dataclass, field

FENCED: Final = 10
CONTROLLED_SHUTDOWN: Final = 20
ACTIVE: Final = 30
"""Kafka's numbers of BrokerRegistrationState."""
_FEW: Final = 20
"""Topics that may be counted between two events of the loop."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    brokers: Mapping[int, int]
    """Registered brokers: their state by their id."""
    topics: int
    partitions: int
    offline_partitions: int
    metadata_version: int
    finalized: Mapping[str, int]
    imbalanced_partitions: int = 0
    """Led by another than the first replica."""

    def brokers_in(self, state: int) -> int:
        return sum(one == state for one in self.brokers.values())


@dataclass(frozen=True, slots=True)
class _TopicCount:
    topic: TopicImage
    offline: int
    imbalanced: int


@dataclass(slots=True)
class ImageCounter:
    """One per process. Not to be used by two threads at once."""

    _counted: dict[Uuid, _TopicCount] = field(default_factory=dict)

    def is_quick(self, image: MetadataImage) -> bool:
        """Whether counting takes about a millisecond."""
        fresh = 0
        for topic in image.topics:
            known = self._counted.get(topic.id)
            if known is None or known.topic is not topic:
                fresh += 1
                if fresh > _FEW or topic.partition_count > _FEW * 10:
                    return False
        return True

    def count(self, image: MetadataImage) -> ImageFacts:
        before, self._counted = self._counted, {}
        for topic in image.topics:
            known = before.get(topic.id)
            self._counted[topic.id] = known if known is not None and known.topic is topic else _count(topic)
        counts = self._counted.values()
        return ImageFacts(
            brokers={broker.id: _state(broker) for broker in image.cluster.brokers.values()},
            topics=len(self._counted),
            partitions=sum(one.topic.partition_count for one in counts),
            offline_partitions=sum(one.offline for one in counts),
            metadata_version=image.features.metadata_version,
            finalized=dict(image.features.levels),
            imbalanced_partitions=sum(one.imbalanced for one in counts),
        )


def _count(topic: TopicImage) -> _TopicCount:
    offline = imbalanced = 0
    for _, partition in topic.partitions():
        offline += partition.leader < 0
        imbalanced += bool(partition.replicas) and partition.leader != partition.replicas[0]
    return _TopicCount(topic, offline, imbalanced)


def _state(broker: BrokerRegistration) -> int:
    if broker.fenced:
        return FENCED
    return CONTROLLED_SHUTDOWN if broker.in_controlled_shutdown else ACTIVE
