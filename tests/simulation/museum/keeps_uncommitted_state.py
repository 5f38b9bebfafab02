"""A leader that was deposed goes on with an image that holds what it wrote and nobody committed (QC-03)."""

from __future__ import annotations

import pytest

from controller_runtime.node.active_controller import ActiveController
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.effects import NodeEffect

SOURCE = "class of defect: state machine not rolled back"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = ControllerNode._deactivate

    def deactivate(self: ControllerNode, active: ActiveController) -> list[NodeEffect]:
        active.writer.committed_image = active.writer.image
        return original(self, active)

    patch.setattr(ControllerNode, "_deactivate", deactivate)
