"""A reassignment is complete as soon as one of the new replicas is in sync: those who had everything are gone before
the others have it.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange

SOURCE = "class of defect: KIP-455, KAFKA-12803"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def complete(self: PartitionChange) -> None:
        stay = tuple(replica for replica in self.replicas if replica not in self.removing)
        if self.removing or self.adding:
            in_sync = tuple(replica for replica in self.isr if replica not in self.removing)
            self.replicas, self.isr, self.removing, self.adding = stay, in_sync or stay[:1], (), ()

    patch.setattr(PartitionChange, "_complete_reassignment", complete)
