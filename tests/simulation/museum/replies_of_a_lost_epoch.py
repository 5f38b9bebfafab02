"""A leader that was deposed keeps its waiting replies, and sends them as successes when somebody else's records have the same offsets (QC-03)."""

from __future__ import annotations

import pytest

from controller_runtime.node.pending import PendingReplies, PendingReply

SOURCE = "class of defect: proposals matched by index only"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def take_all(self: PendingReplies) -> list[PendingReply]:
        return []

    patch.setattr(PendingReplies, "take_all", take_all)
    original = PendingReplies.add

    def add(self: PendingReplies, *reply: object) -> None:
        waiting, self._waiting = self._waiting, type(self._waiting)()
        original(self, *reply)  # type: ignore[arg-type]
        self._waiting.extendleft(reversed(waiting))

    patch.setattr(PendingReplies, "add", add)
