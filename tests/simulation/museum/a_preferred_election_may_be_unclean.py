"""Who asks for the preferred leader gets it, in sync or not."""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import Election, PartitionChange

SOURCE = "KAFKA-13162"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._elect

    def elect(self: PartitionChange) -> tuple[int, bool]:
        first = self.replicas[0]
        if self.election is Election.PREFERRED and self.policy.may_lead(first):
            return first, first not in self.isr
        return honest(self)

    patch.setattr(PartitionChange, "_elect", elect)
