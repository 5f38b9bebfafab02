"""CLU-10: a heartbeat that came too late changes what its broker is known to have replayed."""

from __future__ import annotations

import pytest

from controller_runtime.controller.heartbeats import Heartbeats

SHOWN_BY = (
    "unit/controller/test_heartbeats.py::"
    "test_a_heartbeat_that_came_too_late_to_be_answered_prevents_fencing_and_changes_nothing_else"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Heartbeats, "hear", lambda self, broker, now: self.touch(broker, now, 1 << 40))
