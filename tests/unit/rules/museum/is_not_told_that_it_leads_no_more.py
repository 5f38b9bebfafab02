"""FET-21: the application is not told that the leadership is over."""

from __future__ import annotations

import pytest

from controller_runtime.raft.effects import StopLeading
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import RaftRole

SHOWN_BY = (
    "unit/raft/test_leading_and_following.py::"
    "test_an_application_hears_at_once_that_it_leads_no_more_and_nothing_while_it_resigns"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = Quorum.enter

    def enter(self: Quorum, role: RaftRole) -> None:
        right(self, role)
        self.out[:] = [effect for effect in self.out if not isinstance(effect, StopLeading)]

    patch.setattr(Quorum, "enter", enter)
