"""Two candidates of one epoch get the same voter's vote (RFT-13). Zeebe's Raft accepted two vote requests of term 1195
and elected two leaders.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft import election

SOURCE = "camunda/camunda#5356"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(election, "is_same_vote", lambda *_: True)
