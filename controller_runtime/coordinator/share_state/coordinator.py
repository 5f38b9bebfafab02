"""The share coordinator of a broker: which of its partitions a key belongs to, and whether that is served here now."""

from __future__ import annotations

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.partition import Effects, SharePartition
from controller_runtime.coordinator.share_state.ports import TOPIC, ShareStateTopic
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.protocol.errors import ErrorCode


class ShareCoordinator:
    def __init__(self, settings: ShareStateSettings, topic: ShareStateTopic) -> None:
        self.settings = settings
        self.topic = topic
        self.partitions: dict[int, SharePartition] = {}
        """Those that are led here, by index."""

    def place_of(self, key: ShareKey) -> int | None:
        """The partition that a key belongs to; None: there is no `__share_group_state` yet."""
        found = self.topic.image.topics.named(TOPIC)
        return None if found is None else partition_for(str(key), found.partition_count)

    def find(self, key: ShareKey) -> SharePartition | ErrorCode:
        """The partition of a key, if it is served here."""
        index = self.place_of(key)
        found = None if index is None else self.partitions.get(index)
        if found is None or found.fault:
            return ErrorCode.NOT_COORDINATOR
        return found if found.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def batches_of(self, key: ShareKey) -> int:
        """How many its state has."""
        found = self.find(key)
        entry = None if isinstance(found, ErrorCode) else found.entries.get(key)
        return 0 if entry is None else len(entry.state.batches)

    def lead(self, index: int) -> SharePartition:
        """From now on this node leads the partition; it is to be loaded."""
        found = self.partitions[index] = SharePartition(index, self.settings, self.topic)
        return found

    def resign(self, index: int) -> Effects:
        found = self.partitions.pop(index, None)
        return [] if found is None else found.resign()
