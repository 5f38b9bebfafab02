"""A new leader changes the voters before a record of its own epoch is committed: the set that it starts from may be
replaced by one that shares no majority with the new one.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.membership import adding, reconfiguration, removing
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SOURCE = "Ongaro, raft-dev 2015 (bug in single-server membership changes); atomix/copycat#23"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = reconfiguration.why_not_now

    def why_not_now(q: Quorum, leader: Leader, doing: str) -> object:
        refused = original(q, leader, doing)
        return None if refused is not None and refused[1] == reconfiguration.NO_HIGH_WATERMARK else refused

    patch.setattr(adding, "why_not_now", why_not_now)
    patch.setattr(removing, "why_not_now", why_not_now)
