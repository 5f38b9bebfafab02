"""A leader says that a replica is in sync, and means one that fetched before its broker crashed and registered anew:
what has come back may have lost what it acknowledged.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.isr_changes import _Answer

SOURCE = "KAFKA-14617 (KIP-903)"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = _Answer._is_eligible
    patch.setattr(_Answer, "_is_eligible", lambda self, broker, _: honest(self, broker, -1))
