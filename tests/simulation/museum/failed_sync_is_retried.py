"""A sync that failed is tried again and succeeds, because the kernel has marked the lost pages clean: PostgreSQL
acknowledged lost writes for twenty years.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log import disk_work
from controller_runtime.storage.log.disk_work import DiskTask

SOURCE = "PostgreSQL 11.2 (fsync failures of 2018)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = disk_work.perform

    def perform(filesystem: FileSystem, steps: Sequence[DiskTask]) -> None:
        for step in steps:
            try:
                original(filesystem, [step])
            except DiskFailed:
                original(filesystem, [step])

    patch.setattr(disk_work, "perform", perform)
