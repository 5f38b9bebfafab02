"""A follower whose leader is lost goes on with the next one's snapshot where the first one's ended: one file of two.
Two things stand against it: another role drops the part, and the bytes are verified as they come. Both are broken here.
"""

from __future__ import annotations

import pytest

from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.sent_by_leader import SentByLeader
from controller_runtime.raft import following
from controller_runtime.raft.messages import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Follower

SOURCE = "class of defect: one file of two leaders' snapshots (thesis 5.1, figure 5.3)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = following._start_snapshot
    positions: dict[int, int] = {}

    def drop(self: Quorum, role: Follower) -> None:
        if role.snapshot is not None and not role.snapshot.written:
            positions[id(self)] = role.snapshot.position
        role.snapshot = None

    def start(q: Quorum, role: Follower, response: FetchResponse) -> None:
        original(q, role, response)
        if role.snapshot is not None:
            role.snapshot.position = positions.pop(id(q), 0)

    def unchecked(
        self: SentByLeader, asked: FetchSnapshotRequest, answer: FetchSnapshotResponse, out: list[QuorumEffect]
    ) -> FetchSnapshotResponse:
        return answer

    patch.setattr(Quorum, "drop_snapshot", drop)
    patch.setattr(following, "_start_snapshot", start)
    patch.setattr(SentByLeader, "_snapshot", unchecked)
