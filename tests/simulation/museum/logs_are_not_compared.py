"""A follower takes any batch that fits by offset, so logs diverge (NoLogDivergence). Kafka's followers diverged after a
fast failover because only offsets were compared.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.log_view import LogView, Valid

SOURCE = "KAFKA-6361"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogView, "validate", lambda *_: Valid())
