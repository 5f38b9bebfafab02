"""A leader that is deposed tells its waiting clients that their changes are made, though the next leader may cut them
(QC-03).
"""

from __future__ import annotations

import pytest

from controller_runtime.node.active_controller import ActiveController
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.effects import NodeEffect, Respond

SOURCE = "class of defect: acknowledged when stepping down"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = ControllerNode._deactivate

    def deactivate(self: ControllerNode, active: ActiveController) -> list[NodeEffect]:
        waiting = active._pending.take_all()
        return [*(Respond(each.asker.request_id, each.response) for each in waiting), *original(self, active)]

    patch.setattr(ControllerNode, "_deactivate", deactivate)
