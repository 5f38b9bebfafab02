"""What a majority holds is taken for committed though it is of an earlier epoch (FET-09): figure 8 of the
Raft paper.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft import replication
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SOURCE = "Raft paper 5.4.2, figure 8"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        honest, leader.epoch_start = leader.epoch_start, Offset(-1)
        original(q, leader)
        leader.epoch_start = honest

    patch.setattr(replication, "advance_leader", advance)
