"""The leader counts its own log though the newest voters do not include it (FET-11)."""

from __future__ import annotations

import pytest

from controller_runtime.raft import replication
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SOURCE = "KAFKA-16530"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        honest = Quorum.is_voter
        Quorum.is_voter = property(lambda _: True)  # type: ignore[assignment, method-assign]
        try:
            original(q, leader)
        finally:
            Quorum.is_voter = honest  # type: ignore[method-assign]

    patch.setattr(replication, "advance_leader", advance)
