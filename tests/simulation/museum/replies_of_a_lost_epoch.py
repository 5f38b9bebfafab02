"""A leader that is deposed tells its waiting clients that their changes are made, though the next leader may cut them
(QC-03).
"""

from __future__ import annotations

import pytest

from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.controller_part import ControllerPart
from controller_runtime.node.quorum.effects import QuorumEffect

SOURCE = "class of defect: acknowledged when stepping down"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = ControllerPart._step_down

    def step_down(self: ControllerPart, active: Active) -> list[QuorumEffect]:
        waiting = active._pending.take_all()
        return [*(each.response for each in waiting), *original(self, active)]

    patch.setattr(ControllerPart, "_step_down", step_down)
