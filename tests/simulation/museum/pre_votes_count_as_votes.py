"""Who won the pre-vote leads without asking for votes (KIP-996; thesis 9.6): a pre-vote binds nobody."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Candidate, Prospective

SOURCE = "KIP-996, class of defect"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = election.become_candidate

    def become_candidate(q: Quorum, now: Instant) -> None:
        granted = set(q.role.ballot.granted) if isinstance(q.role, Prospective) else set()
        original(q, now)
        assert isinstance(q.role, Candidate)
        q.role.ballot.granted |= granted

    patch.setattr(election, "become_candidate", become_candidate)
