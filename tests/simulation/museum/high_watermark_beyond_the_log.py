"""A follower believes the leader's high watermark though its own log ends before it (FET-15): what it does not hold
would be committed.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft import following
from controller_runtime.raft.messages import FetchResponse
from controller_runtime.raft.quorum import Quorum

SOURCE = "class of defect: commit index not bounded by the log (Raft paper, figure 2)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def follow(q: Quorum, response: FetchResponse) -> None:
        if response.high_watermark >= 0:
            q.raise_high_watermark(Offset(response.high_watermark))

    patch.setattr(following, "_follow_high_watermark", follow)
