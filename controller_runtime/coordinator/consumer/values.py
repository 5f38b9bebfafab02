"""What decisions about groups of the consumer protocol are made on, and what they come to."""

from __future__ import annotations

from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.consumer.settings import ConsumerSettings, Pace
from controller_runtime.identifiers import Uuid, WallClock
from controller_runtime.metadata.configs import GROUP
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class World:
    """What a group's coordinator knows besides the group."""

    image: MetadataImage
    settings: ConsumerSettings
    hashes: TopicHashes
    wall: WallClock
    version: int
    """Of the image: where it ends in the metadata log."""
    topics_made_at: int
    """The version at which topics were made last."""

    def pace(self, group_id: str) -> Pace:
        return Pace.of(self.settings, self.image.configs.of(GROUP, group_id))

    def ids_of(self, names: frozenset[str]) -> frozenset[Uuid]:
        """Of those that are there."""
        return ids_of(names, self.image)


def ids_of(names: frozenset[str], image: MetadataImage) -> frozenset[Uuid]:
    """Of topics that are there."""
    found = (image.topics.named(name) for name in names)
    return frozenset(topic.id for topic in found if topic is not None)


@dataclass(frozen=True, slots=True)
class Clock:
    """A timer of a member that is set, or stopped."""

    kind: str
    member_id: str
    delay_ms: int | None
    """None: it is stopped."""
    unless_set: bool = False


SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"
"""A member says nothing; it does not give up what it should; of the classic protocol: it does not join, or sync."""


@dataclass(slots=True)
class Change:
    """What is to be written, and which timers are set when it is."""

    group_id: str
    records: list[ConsumerRecord] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    wants_target: bool = False
    """A target assignment is to be computed, and not at once: it takes long."""
    has_seen_topics: bool = False
    """The metadata hash was made of the topics as they are."""

    def set_clock(self, kind: str, member_id: str, delay_ms: int, *, unless_set: bool = False) -> None:
        self.clocks.append(Clock(kind, member_id, delay_ms, unless_set))

    def stop_clocks(self, member_id: str, *kinds: str) -> None:
        self.clocks += (Clock(kind, member_id, None) for kind in kinds or (SESSION, REBALANCE, JOIN, SYNC))
