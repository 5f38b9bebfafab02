"""A snapshot gets its name before its bytes are durable: after a power loss the log begins at a file that
is not whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from controller_runtime.storage.snapshot_writer import SnapshotWrite

SOURCE = "Pillai et al., All File Systems Are Not Created Equal (OSDI 2014); canonical/raft#184"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def write_part(self: SnapshotWrite, batches: Iterable[bytes], pause: Callable[[], None]) -> int:
        self._remove_part()
        file = self.filesystem.open(self._part, create=True)
        size = 0
        for batch in batches:
            file.write_at(size, batch)
            size += len(batch)
        return size

    patch.setattr(SnapshotWrite, "_write_part", write_part)
