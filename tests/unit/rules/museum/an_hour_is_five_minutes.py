"""RCF-05: the session of an observer, five minutes, is taken for the hour within which a new voter must
have fetched.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.membership import adding

SHOWN_BY = "unit/raft/test_adding_voters.py::test_an_observer_becomes_a_voter_only_if_it_fetched_within_the_last_hour"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adding, "RECENT_FETCH_MS", 300_000)
