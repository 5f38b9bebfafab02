"""RFT-15: an unattached node that knows the leader of the epoch by name, and has not voted, votes all the same."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election
from controller_runtime.raft.messages import VoteRequest
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Unattached

SHOWN_BY = "unit/raft/test_votes.py::test_nobody_votes_in_an_epoch_whose_leader_it_knows_however_good_the_log"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = election._may_grant

    def may_grant(q: Quorum, request: VoteRequest, now: Instant) -> bool:
        knows = isinstance(q.role, Unattached) and q.role.leader_id is not None and q.role.voted is None
        return knows or right(q, request, now)

    patch.setattr(election, "_may_grant", may_grant)
