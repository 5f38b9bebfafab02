"""A file is replaced by rename and its directory never synced: the old one is back after a power loss, and with it the
old vote.
"""

from __future__ import annotations

import pytest

from controller_runtime.storage import quorum_state
from controller_runtime.storage.filesystem import FileSystem

SOURCE = "Pillai et al., All File Systems Are Not Created Equal (OSDI 2014); RedisLabs/redisraft#548"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def write(filesystem: FileSystem, path: str, data: bytes) -> None:
        temporary = path + ".tmp"
        if filesystem.exists(temporary):
            filesystem.remove(temporary)
        file = filesystem.open(temporary, create=True)
        file.write_at(0, data)
        file.fdatasync()
        file.close()
        filesystem.rename(temporary, path)

    patch.setattr(quorum_state, "write_atomically", write)
