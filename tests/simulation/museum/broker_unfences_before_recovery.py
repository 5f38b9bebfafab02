"""A broker asks to be unfenced as soon as the recovery of its logs has begun."""

from __future__ import annotations

import pytest

from controller_runtime.broker.local_changes import LocalChanges

SOURCE = "class of defect: KIP-631, RUNNING before RECOVERY is over"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LocalChanges, "is_recovered", property(lambda self: self._acting_on is not None))
