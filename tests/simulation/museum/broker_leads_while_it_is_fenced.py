"""A broker goes on leading when the image says that nobody leads any more: it was fenced."""

from __future__ import annotations

import pytest

from controller_runtime.broker.local_partitions import LocalPartitions, _Replica
from controller_runtime.broker.partition import OpenLog
from controller_runtime.identifiers import PartitionId
from controller_runtime.values import replace

SOURCE = "class of defect: apache/kafka, a zombie leader (KIP-320)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = LocalPartitions._take_part

    def take_part(self: LocalPartitions, key: PartitionId, replica: _Replica, log: OpenLog) -> None:
        if replica.registered.leader < 0:
            replica.registered = replace(replica.registered, leader=self.node_id)
        honest(self, key, replica, log)

    patch.setattr(LocalPartitions, "_take_part", take_part)
