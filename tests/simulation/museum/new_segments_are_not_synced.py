"""The name of a new segment is never synced into its directory: a power loss removes a file whose bytes were synced."""

from __future__ import annotations

import pytest

from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log import disk_work

SOURCE = "Pillai et al., All File Systems Are Not Created Equal (OSDI 2014); baidu/braft#254"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = disk_work.perform

    class Forgetful:
        def __init__(self, disk: FileSystem) -> None:
            self._disk = disk

        def __getattr__(self, name: str) -> object:
            return getattr(self._disk, name)

        def sync_directory(self, path: str) -> None: ...

    def perform(filesystem: FileSystem, steps: object) -> None:
        original(Forgetful(filesystem), steps)  # type: ignore[arg-type]

    patch.setattr(disk_work, "perform", perform)
