"""RCF-05: an observer that has fetched lately is taken for one that was caught up."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant, ReplicaKey
from controller_runtime.raft.membership import adding
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SHOWN_BY = (
    "unit/raft/test_adding_voters.py::test_an_observer_that_was_never_caught_up_is_not_added_however_lately_it_fetched"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    def has_caught_up(q: Quorum, leader: Leader, key: ReplicaKey, now: Instant) -> bool:
        return key in leader.observers

    patch.setattr(adding, "_has_caught_up", has_caught_up)
