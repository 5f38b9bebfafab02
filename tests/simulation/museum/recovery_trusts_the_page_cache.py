"""A recovered log counts as flushed though only the kernel's memory holds its end: a killed process had written and not
synced it. Our own first version did this; the simulator found it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.storage.metadata_log import MetadataLog
from support.simulation.disk import SimFile

SOURCE = "Quorate, issue 3"


def break_it(patch: pytest.MonkeyPatch) -> None:
    opening: list[bool] = []
    original: Callable[..., MetadataLog] = MetadataLog.open
    sync = SimFile.fdatasync

    def open_log(*arguments: object) -> MetadataLog:
        opening.append(True)
        try:
            return original(*arguments)
        finally:
            opening.pop()

    def fdatasync(self: SimFile) -> None:
        if not opening:
            sync(self)

    patch.setattr(MetadataLog, "open", open_log)
    patch.setattr(SimFile, "fdatasync", fdatasync)
