"""A voter compares lengths before epochs: a long log of an old epoch beats a short one that holds what was committed
since (RFT-16).
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election
from controller_runtime.raft.messages import VoteRequest
from controller_runtime.raft.quorum import Quorum

SOURCE = "Raft paper 5.4.1, class of defect"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = election._may_grant

    def may_grant(q: Quorum, request: VoteRequest, now: Instant) -> bool:
        if request.last.offset < q.log.end_offset:
            return False
        honest, q.log.epoch_starts = q.log.epoch_starts, []
        kept, q.log.snapshots = q.log.snapshots, []
        try:
            return original(q, request, now)
        finally:
            q.log.epoch_starts, q.log.snapshots = honest, kept

    patch.setattr(election, "_may_grant", may_grant)
