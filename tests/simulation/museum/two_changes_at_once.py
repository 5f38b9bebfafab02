"""The leader begins the next change of the voters before the last is committed: two sets may share no majority
(RCF-12).
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.membership import adding, removing

SOURCE = "KIP-853; hashicorp/raft#117 (issue 84)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adding, "why_not_now", lambda *_: None)
    patch.setattr(removing, "why_not_now", lambda *_: None)
