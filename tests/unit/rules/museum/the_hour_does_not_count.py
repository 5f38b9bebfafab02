"""RCF-05: an observer that was caught up once may become a voter, however long ago it fetched."""

from __future__ import annotations

import pytest

from controller_runtime.raft.membership import adding

SHOWN_BY = "unit/raft/test_adding_voters.py::test_an_observer_becomes_a_voter_only_if_it_fetched_within_the_last_hour"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adding, "RECENT_FETCH_MS", 1 << 50)
