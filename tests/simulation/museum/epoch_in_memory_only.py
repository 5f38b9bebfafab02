"""Nothing of an election is kept on disk: epochs fall back after a restart (INV-01). raft-java raised its term without
writing it.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.effects import SaveElection
from controller_runtime.raft.quorum import Quorum

SOURCE = "wenweihu86/raft-java#57"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = Quorum.save

    def save(self: Quorum) -> None:
        original(self)
        self.out = [effect for effect in self.out if not isinstance(effect, SaveElection)]

    patch.setattr(Quorum, "save", save)
