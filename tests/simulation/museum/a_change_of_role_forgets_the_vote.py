"""A voter that changes its role within an epoch forgets whom it voted for, and may vote again (RFT-11). CCF's nodes
cleared the vote when they became followers.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, ReplicaKey
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Candidate, Leader

SOURCE = "microsoft/CCF#8094"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def vote_in(self: Quorum, epoch: Epoch) -> ReplicaKey | None:
        return self.own_vote_key() if epoch == self.epoch and isinstance(self.role, Candidate | Leader) else None

    patch.setattr(Quorum, "vote_in", vote_in)
