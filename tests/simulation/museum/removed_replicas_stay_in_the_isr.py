"""A reassignment that is complete takes replicas away and leaves them in the ISR."""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange

SOURCE = "KAFKA-6638, KAFKA-9672"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._complete_reassignment

    def complete(self: PartitionChange) -> None:
        in_sync = self.isr
        honest(self)
        self.isr = in_sync

    patch.setattr(PartitionChange, "_complete_reassignment", complete)
