"""A vote is kept in memory only, so a restart may vote again in the same epoch (RFT-12). akka-raft forgot whom it had
voted for and elected two leaders of one term.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant, ReplicaKey
from controller_runtime.raft import election
from controller_runtime.raft.quorum import Quorum

SOURCE = "ktoso/akka-raft#56"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def cast(q: Quorum, candidate: ReplicaKey, now: Instant) -> None:
        q.role.voted = candidate  # type: ignore[union-attr]

    patch.setattr(election, "_cast_vote", cast)
