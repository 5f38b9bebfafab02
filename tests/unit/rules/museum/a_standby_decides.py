"""QC-01: a controller that is not active does not send its askers on, but says that all is well."""

from __future__ import annotations

import pytest

from controller_runtime.controller.refusals import refusal
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.effects import NodeEffect, Respond
from controller_runtime.node.pending import Asker

SHOWN_BY = (
    "unit/node/test_who_answers.py::test_a_standby_refuses_what_only_the_active_controller_may_decide_and_names_it"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    def accept(self: ControllerNode, asker: Asker) -> NodeEffect:
        return Respond(asker.request_id, refusal(asker.request, 0))

    patch.setattr(ControllerNode, "_refuse", accept)
