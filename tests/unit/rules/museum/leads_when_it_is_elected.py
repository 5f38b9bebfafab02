"""FET-21: the application is told that it leads as soon as it is elected, before a record of the epoch is committed."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import leadership
from controller_runtime.raft.effects import StartLeading
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SHOWN_BY = (
    "unit/raft/test_leading_and_following.py::"
    "test_an_application_hears_that_it_leads_only_when_a_record_of_the_epoch_is_committed"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = leadership.become_leader

    def become_leader(q: Quorum, now: Instant) -> None:
        right(q, now)
        assert isinstance(q.role, Leader)
        q.role.announced = True
        q.out.append(StartLeading(q.epoch))

    patch.setattr(leadership, "become_leader", become_leader)
