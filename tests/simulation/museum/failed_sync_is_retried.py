"""A sync that failed is tried again and succeeds, because the kernel has marked the lost pages clean: PostgreSQL acknowledged lost writes for twenty
years.
"""

from __future__ import annotations

import pytest

from controller_runtime.storage.disk_work import SyncSegment
from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.metadata_log import PendingWrite

SOURCE = "PostgreSQL 11.2 (fsync failures of 2018)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = PendingWrite.perform

    def perform(self: PendingWrite) -> None:
        try:
            original(self)
        except DiskFailed:
            for step in self.steps:
                if isinstance(step, SyncSegment) and step.segment.file is not None:
                    step.segment.file.fdatasync()

    patch.setattr(PendingWrite, "perform", perform)
