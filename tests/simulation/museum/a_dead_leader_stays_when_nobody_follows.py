"""A partition whose last replica in sync is gone keeps its leader, instead of having none."""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange
from controller_runtime.metadata.partitions import NO_LEADER

SOURCE = "KAFKA-3096"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._elect

    def elect(self: PartitionChange) -> tuple[int, bool]:
        leader, unclean = honest(self)
        return (self.partition.leader, False) if leader == NO_LEADER else (leader, unclean)

    patch.setattr(PartitionChange, "_elect", elect)
