"""Truncation leaves epochs in the cache whose records are gone: the follower describes a log that it does not have."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft.log_view import LogView

SOURCE = "KAFKA-10706"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = LogView.truncate

    def truncate(self: LogView, end_offset: Offset) -> None:
        kept = list(self.epoch_starts)
        original(self, end_offset)
        self.epoch_starts = kept

    patch.setattr(LogView, "truncate", truncate)
