"""A client hears of a change that may vanish (QC-02)."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.node.active.pending import PendingReplies, PendingReply

SOURCE = "class of defect: acknowledged before committed"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def release(self: PendingReplies, _: Offset) -> list[PendingReply]:
        return self.take_all()

    patch.setattr(PendingReplies, "release", release)
