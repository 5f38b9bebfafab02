"""A controlled shutdown does not wait for the controller: clients are told that a stopped broker leads, until its
session ends.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.lifecycle import BrokerLifecycle, State
from controller_runtime.identifiers import Instant

SOURCE = "class of defect: KIP-631, ShouldShutDown is not waited for"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def shut_down(self: BrokerLifecycle, now: Instant) -> None:
        self.state = State.STOPPED

    patch.setattr(BrokerLifecycle, "shut_down", shut_down)
