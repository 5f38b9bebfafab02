"""The last known leader is elected though it is fenced."""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange
from controller_runtime.metadata.partitions import NO_LEADER

SOURCE = "KAFKA-19522"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._elect

    def elect(self: PartitionChange) -> tuple[int, bool]:
        leader, unclean = honest(self)
        last = self.partition.last_known_elr
        if leader == NO_LEADER and self.policy.elr_enabled and not self.elr and not self.isr and len(last) == 1:
            return last[0], True
        return leader, unclean

    patch.setattr(PartitionChange, "_elect", elect)
