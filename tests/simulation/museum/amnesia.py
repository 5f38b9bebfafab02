"""A voter whose disk was lost comes back with its old name and an empty disk, and votes again: what a majority held is
on a minority now. KRaft has directory ids against it (KIP-853).
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import ReplicaKey
from controller_runtime.raft import election, leadership
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.voter_set import Voter, VoterSet

SOURCE = "KAFKA-14077"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def match(self: VoterSet, key: ReplicaKey) -> Voter | None:
        return self.by_id(key.node_id)

    def addressed(q: Quorum, receiver: ReplicaKey | None) -> bool:
        return receiver is None or receiver.node_id in (-1, q.config.node_id)

    patch.setattr(VoterSet, "match", match)
    patch.setattr(election, "is_addressed_to", addressed)
    patch.setattr(leadership, "is_addressed_to", addressed)
