"""The controller takes a leader's word for it that a replica is in sync, though its broker is fenced or leaving."""

from __future__ import annotations

import pytest

from controller_runtime.controller.isr_changes import _ANY_EPOCH, _Answer
from controller_runtime.identifiers import NodeId

SOURCE = "KAFKA-13916 (KIP-841), KAFKA-12733"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def is_eligible(self: _Answer, broker_id: int, epoch: int) -> bool:
        broker = self._image.cluster.brokers.get(NodeId(broker_id))
        return broker is not None and epoch in (_ANY_EPOCH, broker.epoch)

    patch.setattr(_Answer, "_is_eligible", is_eligible)
