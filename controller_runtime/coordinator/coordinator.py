"""The coordinator of a broker: which of its partitions a group belongs to, and whether that is served here now.

A group belongs to the partition of `__consumer_offsets` that Java's hash of its name says, and is served by the leader
of that partition, once its records are read. Other nodes answer NOT_COORDINATOR, and a node that reads still
COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from controller_runtime.coordinator.classic_values import Timer
from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.java_texts import INT, java_hash
from controller_runtime.coordinator.ports import TOPIC, OffsetsTopic
from controller_runtime.coordinator.timers import Timers
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.errors import ErrorCode

_MOST_TIMERS: Final = 250
"""That one step answers: a few milliseconds of work."""


def partition_for(group_id: str, partition_count: int) -> int:
    """By the absolute value of the hash, as Java's coordinators; the one number that has none counts as 0."""
    number = java_hash(group_id)
    return 0 if number == -INT // 2 else abs(number) % partition_count


class GroupCoordinator:
    def __init__(self, settings: GroupSettings, topic: OffsetsTopic, new_uuid: Callable[[], Uuid]) -> None:
        self.settings = settings
        self.topic = topic
        self.new_uuid = new_uuid
        self._timers: Timers[Timer] = Timers()
        self._hashes = TopicHashes()
        self.partitions: dict[int, GroupPartition] = {}
        """Those that are led here, by index."""

    def place_of(self, group_id: str) -> int | None:
        """The partition that it belongs to; None: there is no `__consumer_offsets` yet."""
        found = self.topic.image.topics.named(TOPIC)
        return None if found is None else partition_for(group_id, found.partition_count)

    def find(self, group_id: str) -> GroupPartition | ErrorCode:
        """The partition of a group, if it is served here."""
        index = self.place_of(group_id)
        found = None if index is None else self.partitions.get(index)
        if found is None or found.fault:
            return ErrorCode.NOT_COORDINATOR
        return found if found.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def lead(self, index: int) -> GroupPartition:
        """From now on this node leads the partition, in a new epoch; it is to be loaded."""
        found = self.partitions[index] = GroupPartition(index, self.settings, self.topic, self._timers, self._hashes)
        return found

    def see_topics(self, names: Collection[str]) -> None:
        """These were made, deleted or changed: groups that read them look at them with the next heartbeat."""
        for partition in self.partitions.values():
            partition.shares.see_topics(names)
            partition.streams.see_topics(names)
            for group in partition.consumers.values():
                group.is_stale = group.is_stale or any(map(group.reads, names))

    def resign(self, index: int, now: Instant, wall: WallClock) -> list[Respond]:
        found = self.partitions.pop(index, None)
        return [] if found is None else found.resign(now, wall)

    def next_deadline(self) -> Instant | None:
        return self._timers.next_deadline()

    def on_time(self, now: Instant, wall: WallClock) -> list[Respond]:
        """What is due, as far as one step goes."""
        out: list[Respond] = []
        for _ in range(_MOST_TIMERS):
            timer = self._timers.take_due(now)
            if timer is None:
                break
            found = self.find(timer.group_id)
            if isinstance(found, GroupPartition):
                out += found.on_timer(timer, now, wall)
        return out
