"""What decisions about share groups are made on, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.consumer.settings import Pace
from controller_runtime.coordinator.consumer.values import SESSION, Clock, ids_of
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.coordinator.share.settings import ShareGroupSettings
from controller_runtime.identifiers import Uuid, WallClock
from controller_runtime.metadata.configs import GROUP
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

KIND: Final = "share"


@dataclass(frozen=True, slots=True)
class ShareWorld:
    """What a group's coordinator knows besides the group."""

    image: MetadataImage
    settings: ShareGroupSettings
    hashes: TopicHashes
    wall: WallClock

    def pace(self, group_id: str) -> Pace:
        return Pace.of(self.settings, self.image.configs.of(GROUP, group_id), KIND)

    def ids_of(self, names: frozenset[str]) -> frozenset[Uuid]:
        """Of those that are there."""
        return ids_of(names, self.image)


@dataclass(frozen=True, slots=True)
class AnswerLater:
    """To a request about offsets, as far as it is known before share coordinators have answered."""

    request_id: RequestId
    request: Message
    body: Any


@dataclass(frozen=True, slots=True)
class StatesWanted:
    """An effect: the share coordinator is to begin to keep states of these partitions, from `start_offsets` on; where
    none is said the leader of the partition finds it.
    """

    group_id: str
    epoch: int
    """Of the group: that of the states."""
    start_offsets: Mapping[Uuid, Mapping[int, int]]
    answer: AnswerLater | None = None
    """Who has asked for these offsets; None: members read the topics."""


@dataclass(slots=True)
class ShareChange:
    """What is to be written, and which timers are set when it is."""

    group_id: str
    records: list[ShareGroupRecord] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    has_seen_topics: bool = False
    """The metadata hash was made of the topics as they are."""

    def begin_session(self, member_id: str, timeout_ms: int) -> None:
        self.clocks.append(Clock(SESSION, member_id, timeout_ms))

    def end_session(self, member_id: str) -> None:
        self.clocks.append(Clock(SESSION, member_id, None))
