"""The ELR is not cleared when the ISR is large enough again: the high watermark moves on, and who stayed in the ELR has
not what is acknowledged now.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange

SOURCE = "class of defect: KIP-966"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = PartitionChange._update_elr

    def update(self: PartitionChange) -> None:
        honest(self)
        if self.policy.elr_enabled and not self.elr:
            self.elr = tuple(each for each in self.partition.elr if each not in (*self.isr, *self.unclean_shutdown))

    patch.setattr(PartitionChange, "_update_elr", update)
