"""A produce request is acknowledged when its batch has an offset, not when it is in the log."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.produce import ProduceHandler, _Parked, _Wait
from controller_runtime.identifiers import Instant

SOURCE = "class of defect: acknowledged from memory"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def answer_at_once(self: ProduceHandler, parked: _Parked, now: Instant) -> list[BrokerEffect]:
        return self._wait_for_replicas(parked, now)

    def none_missing(self: ProduceHandler, parked: _Parked) -> list[_Wait]:
        return []

    patch.setattr(ProduceHandler, "_wait_for_disk", answer_at_once)
    patch.setattr(ProduceHandler, "_unreplicated", none_missing)
