"""At its start a broker takes every log that it finds for stray, its own too, and begins with new ones."""

from __future__ import annotations

from collections.abc import Container

import pytest

from controller_runtime.identifiers import PartitionId
from controller_runtime.storage.log_directory import LogDirectory

SOURCE = "class of defect: KAFKA-14616, strays are found by an image that is not loaded"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = LogDirectory.set_aside_strays

    def set_aside_strays(
        self: LogDirectory, known: Container[PartitionId], old: Container[tuple[str, int]] = ()
    ) -> list[str]:
        return honest(self, set(), old)

    patch.setattr(LogDirectory, "set_aside_strays", set_aside_strays)
