"""A change of role within an epoch clears the vote of that epoch (RFT-11). CCF cleared it when a candidate stepped down in the same term, and a
delayed pre-vote made two leaders of it.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch
from controller_runtime.raft.quorum import Quorum

SOURCE = "microsoft/CCF#8094, microsoft/CCF#5891"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def vote_in(self: Quorum, epoch: Epoch) -> None:
        return None

    patch.setattr(Quorum, "vote_in", vote_in)
