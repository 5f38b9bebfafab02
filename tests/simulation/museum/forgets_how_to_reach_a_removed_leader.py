"""A follower that knew its leader from the voter set only fetches a set without that leader, and has nobody to fetch from. Our own; the simulator
found it.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.voter_set import Listeners

SOURCE = "Quorate, issue 4 (seed 1950827442)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def keep(self: Quorum, known: Listeners) -> None: ...

    patch.setattr(Quorum, "keep_reaching_leader", keep)
