"""A leader that changes the ISR is answered the partition epoch from before its change."""

from __future__ import annotations

import pytest

from controller_runtime.controller import isr_changes
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.messages.alter_partition_response import PartitionData
from controller_runtime.values import replace

SOURCE = "KAFKA-12367"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = isr_changes._state

    def state(index: int, partition: Partition) -> PartitionData:
        return replace(honest(index, partition), partition_epoch=partition.partition_epoch - 1)

    patch.setattr(isr_changes, "_state", state)
