"""PV-10: any pre-vote without an answer is taken for that of a peer that is too old."""

from __future__ import annotations

import pytest

from controller_runtime.raft import election

SHOWN_BY = "unit/raft/test_votes.py::test_a_peer_that_only_fails_to_answer_a_pre_vote_makes_no_candidate"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(election, "on_vote_failed", lambda q, voter, asked, now: election.on_pre_vote_unsupported(q, now))
