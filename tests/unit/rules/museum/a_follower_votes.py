"""RFT-15: a follower votes for a candidate of the epoch whose leader it follows, if only the log is good enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election
from controller_runtime.raft.messages import VoteRequest
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Follower

SHOWN_BY = "unit/raft/test_votes.py::test_nobody_votes_in_an_epoch_whose_leader_it_knows_however_good_the_log"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right, cast = election._may_grant, election._cast_vote

    def may_grant(q: Quorum, request: VoteRequest, now: Instant) -> bool:
        return right(q, replace(request, pre_vote=isinstance(q.role, Follower) or request.pre_vote), now)

    patch.setattr(election, "_may_grant", may_grant)
    patch.setattr(
        election, "_cast_vote", lambda q, who, now: None if isinstance(q.role, Follower) else cast(q, who, now)
    )
