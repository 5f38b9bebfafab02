"""Half of the voters decide: with an even number of voters two halves decide differently."""

from __future__ import annotations

import pytest

from controller_runtime.raft.voter_set import VoterSet

SOURCE = "class of defect: quorum off by one"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VoterSet, "majority", property(lambda self: max(1, (len(self) + 1) // 2)))
