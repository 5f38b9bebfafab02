"""A follower takes the leader's high watermark before it has cut what parts them, and calls its own uncommitted records
committed.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft import following
from controller_runtime.raft.messages import FetchResponse
from controller_runtime.raft.quorum import Quorum

SOURCE = "KAFKA-14704"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = following._cut

    def cut(q: Quorum, response: FetchResponse) -> None:
        following._follow_high_watermark(q, response)
        original(q, response)

    patch.setattr(following, "_cut", cut)
