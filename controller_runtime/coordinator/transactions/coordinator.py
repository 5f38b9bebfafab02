"""The transaction coordinator of a broker: which of its partitions a transactional id belongs to, and whether that is
served here now.
"""

from __future__ import annotations

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.transactions.partition import Effects, TransactionPartition
from controller_runtime.coordinator.transactions.ports import TOPIC, StateTopic
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.protocol.errors import ErrorCode


class TransactionCoordinator:
    def __init__(self, settings: TransactionSettings, topic: StateTopic) -> None:
        self.settings = settings
        self.topic = topic
        self.partitions: dict[int, TransactionPartition] = {}
        """Those that are led here, by index."""

    def place_of(self, name: str) -> int | None:
        """The partition that an id belongs to; None: there is no `__transaction_state` yet."""
        found = self.topic.image.topics.named(TOPIC)
        return None if found is None else partition_for(name, found.partition_count)

    def find(self, name: str) -> TransactionPartition | ErrorCode:
        """The partition of an id, if it is served here."""
        index = self.place_of(name)
        found = None if index is None else self.partitions.get(index)
        if found is None or found.fault:
            return ErrorCode.NOT_COORDINATOR
        return found if found.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def lead(self, index: int, epoch: int) -> TransactionPartition:
        """From now on this node leads the partition in this epoch; it is to be loaded."""
        found = self.partitions[index] = TransactionPartition(index, epoch, self.settings, self.topic)
        return found

    def resign(self, index: int) -> Effects:
        found = self.partitions.pop(index, None)
        return [] if found is None else found.resign()
