"""A leader that is elected again counts what its followers had said in its earlier epoch: they may have cut
it since.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant, Offset
from controller_runtime.raft import leadership
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader, Progress

SOURCE = "class of defect: match index kept across terms"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = leadership.sync_voters
    last: dict[tuple[int, object], Progress] = {}

    def sync(q: Quorum, leader: Leader, now: Instant) -> None:
        original(q, leader, now)
        for node, progress in leader.voters.items():
            known = last.get((id(q), node))
            if progress.end_offset is None and known is not None:
                progress.end_offset = Offset(min(known.end_offset or 0, q.log.end_offset))
            last[id(q), node] = progress

    patch.setattr(leadership, "sync_voters", sync)
