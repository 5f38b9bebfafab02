"""PV-10: a peer that knows no pre-votes is taken for one that does not answer."""

from __future__ import annotations

import pytest

from controller_runtime.raft import election

SHOWN_BY = "unit/raft/test_votes.py::test_a_peer_that_knows_no_pre_votes_is_asked_for_its_vote_at_once"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(election, "on_pre_vote_unsupported", lambda q, now: None)
