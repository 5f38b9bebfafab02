"""A broker that comes back from a crash is treated as one that was shut down in peace: it stays eligible to lead what
it has lost.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller import brokers
from controller_runtime.controller.brokers import _in_isr
from controller_runtime.controller.partition_changes import leader_and_isr_changes

SOURCE = "KAFKA-18635 (KIP-966)"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def after_restart(image, request, _):  # type: ignore[no-untyped-def]
        return leader_and_isr_changes(image, _in_isr(image, request.broker_id), remove=request.broker_id)

    patch.setattr(brokers, "_after_restart", after_restart)
