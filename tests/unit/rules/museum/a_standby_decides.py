"""QC-01: a controller that is not active does not send its askers on, but says that all is well."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.active.pending import ControllerRequest
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.standby import Standby
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.error_responses import refusal

SHOWN_BY = (
    "unit/node/test_who_answers.py::test_a_standby_refuses_what_only_the_active_controller_may_decide_and_names_it"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    def accept(self: Standby, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return [Respond(call.asker.request_id, refusal(call.asker.request, 0))]

    patch.setattr(Standby, "serve", accept)
