"""A leader that nobody fetches from leads on (RFT-37): a partitioned KRaft leader kept serving until
check-quorum came.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft import leadership

SOURCE = "KAFKA-15489 (apache/kafka#14428)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leadership, "check_quorum_deadline", lambda *_: None)
