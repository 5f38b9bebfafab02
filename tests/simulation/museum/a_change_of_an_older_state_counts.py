"""The controller takes an ISR that a leader made of an older state of its partition: what changed since is undone."""

from __future__ import annotations

import pytest

from controller_runtime.controller.isr_changes import Proposed, _Answer
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_partition_request import PartitionData

SOURCE = "KAFKA-14154 (apache/kafka#12506), class of defect: no compare and set"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = _Answer._fault

    def fault(self: _Answer, partition: Partition, proposal: PartitionData, isr: Proposed) -> ErrorCode | None:
        found = honest(self, partition, proposal, isr)
        old = found in (ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH)
        return None if old else found

    patch.setattr(_Answer, "_fault", fault)
