"""Without eligible leader replicas the last member leaves the ISR, too: nobody may lead ever again."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.controller.partition_changes import PartitionChange

SOURCE = "KAFKA-15584, class of defect: ISR shrinks to nothing"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._name_replica_sets

    def name(self: PartitionChange, changes: dict[str, Any]) -> None:
        honest(self, changes)
        if self.isr != self.partition.isr:
            changes["isr"] = self.isr

    patch.setattr(PartitionChange, "_name_replica_sets", name)
