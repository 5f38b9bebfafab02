"""What decisions about streams groups are made on, and what they come to."""

from __future__ import annotations

from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.consumer.values import Clock
from controller_runtime.coordinator.streams.configuring import Configured
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.records import StreamsRecord
from controller_runtime.coordinator.streams.settings import StreamsPace, StreamsSettings
from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.configs import GROUP
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.values import dataclass, field

FIRST_REBALANCE = "first rebalance"
"""The clock of a group that waits for more members before its first assignment."""


@dataclass(frozen=True, slots=True)
class StreamsWorld:
    """What a group's coordinator knows besides the group."""

    image: MetadataImage
    settings: StreamsSettings
    hashes: TopicHashes
    wall: WallClock
    is_delayed: bool = False
    """The group waits for more members."""

    def pace(self, group_id: str) -> StreamsPace:
        return StreamsPace.of(self.settings, self.image.configs.of(GROUP, group_id))


@dataclass(slots=True)
class StreamsChange:
    """What is to be written, and what else changes when it is."""

    group: StreamsGroup
    records: list[StreamsRecord] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    configured: Configured | None = None
    """The topics as they are now."""
    has_seen_topics: bool = False
    shutdown_by: str | None = None
    has_moved_endpoint: bool = False

    @property
    def group_id(self) -> str:
        return self.group.group_id

    def set_clock(self, kind: str, member_id: str, delay_ms: int, *, unless_set: bool = False) -> None:
        self.clocks.append(Clock(kind, member_id, delay_ms, unless_set))

    def stop_clock(self, kind: str, member_id: str) -> None:
        self.clocks.append(Clock(kind, member_id, None))

    def noted(self) -> None:
        """It is written. What is not in the log is remembered by the group that was looked at: of a new one nothing,
        as in Kafka.
        """
        group = self.group
        if self.configured is not None:
            group.configured = self.configured
        if self.has_seen_topics:
            group.is_stale = False
        if self.shutdown_by is not None and group.shutdown_by is None and group.members:
            group.shutdown_by = self.shutdown_by
        group.endpoints_epoch += self.has_moved_endpoint
