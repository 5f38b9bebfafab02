"""A sync that was under way during a truncation counts what was cut and appended anew since."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.storage.metadata_log import MetadataLog

SOURCE = "class of defect: stale completion of an asynchronous write"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def note_cut(self: MetadataLog, end_offset: Offset, to: Offset | None = None) -> None:
        self._flushed = min(self._flushed, end_offset) if to is None else to

    patch.setattr(MetadataLog, "_note_cut", note_cut)
