"""CLU-10: a heartbeat that is refused for lack of room is forgotten, and its broker is fenced."""

from __future__ import annotations

import pytest

from controller_runtime.controller.heartbeats import Heartbeats

SHOWN_BY = (
    "unit/node/test_what_a_controller_counts.py::test_a_heartbeat_that_is_refused_for_lack_of_room_is_a_sign_of_life"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Heartbeats, "hear", lambda self, broker, now: None)
