"""A candidate need not hold what is committed (RFT-16): the election restriction of Raft is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election
from controller_runtime.raft.messages import VoteRequest
from controller_runtime.raft.quorum import Quorum

SOURCE = "Raft paper 5.4.1"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = election._may_grant

    def may_grant(q: Quorum, request: VoteRequest, now: Instant) -> bool:
        return original(q, replace(request, last=q.log.last), now)

    patch.setattr(election, "_may_grant", may_grant)
