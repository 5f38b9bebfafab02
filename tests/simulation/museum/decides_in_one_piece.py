"""Whatever touches thousands of partitions is decided in one step: nobody is served meanwhile, and the followers take
the leader for dead.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.active.long_decision import LongDecision

SOURCE = "this project: the end of a session with 15,000 partitions cost a quorum its leader twice in twenty seconds"
SCHEDULES = "work"


def break_it(patch: pytest.MonkeyPatch) -> None:
    one_piece = Active._advance

    def advance(self: Active, long: LongDecision, now: Instant, wall: WallClock) -> None:
        while self._long is long:
            one_piece(self, long, now, wall)

    patch.setattr(Active, "_advance", advance)
