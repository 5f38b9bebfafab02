"""The answer leaves before the vote is durable: a crash between them lets the voter vote again. octo-im's Raft answered
before it persisted term and vote.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft import replica
from controller_runtime.raft.effects import RaftEffect, SaveElection

SOURCE = "Mininglamp-OSS/octo-im#42"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = replica._without_superseded_saves

    def reordered(effects: list[RaftEffect]) -> list[RaftEffect]:
        return original(sorted(effects, key=lambda effect: isinstance(effect, SaveElection)))

    patch.setattr(replica, "_without_superseded_saves", reordered)
