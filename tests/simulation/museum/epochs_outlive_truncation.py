"""Cutting the log leaves the epochs that were cut in the table of epochs (FET-08): votes and divergences are told by
records that are gone.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft.log_view import LogView

SOURCE = "KAFKA-10706"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def truncate(self: LogView, end_offset: Offset) -> None:
        self.end_offset = end_offset
        self.flushed_offset = min(self.flushed_offset, end_offset)

    patch.setattr(LogView, "truncate", truncate)
