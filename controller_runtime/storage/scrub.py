"""Reading again what was written long ago, slice by slice, so that bit rot is found while other copies are good.

A cursor goes round the closed segments and the snapshots; the active segment is read by followers all the time. A slice
is performed by a thread; it verifies whole batches and says how far it came. What a finding means is decided elsewhere
(`node.quorum.scrubbing`).
"""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log.batches import ScanEnd, scan
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ScrubSlice:
    """From byte `position` of `path`, a batch boundary, on; at least one batch."""

    filesystem: FileSystem
    path: str
    position: int
    max_bytes: int

    def perform(self) -> int:
        """The byte at which the next slice begins. Raises `CorruptFile`; a file that is gone meanwhile is fine."""
        try:
            file = self.filesystem.open(self.path, write=False)
        except FileNotFoundError:
            return self.position
        try:
            position = self.position
            for item in scan(file, self.position):
                if isinstance(item, ScanEnd):
                    raise CorruptFile(self.path, item.reason, item.position)
                position = item.end_position
                if position - self.position >= self.max_bytes:
                    break
            return position
        finally:
            file.close()


class ScrubCursor:
    """Where the round is."""

    def __init__(self) -> None:
        self._path = ""
        self._position = 0
        self.rounds = 0
        """How often everything was read."""

    def next_slice(self, files: Sequence[tuple[str, int]], max_bytes: int) -> tuple[str, int, int] | None:
        """(path, position, bytes) of what comes next among (path, size), in the order of the names."""
        ordered = sorted(files)
        for path, size in ordered:
            if path > self._path or (path == self._path and self._position < size):
                self._position = self._position if path == self._path else 0
                self._path = path
                return path, self._position, max_bytes
        self._path, self._position = "", 0
        if not ordered:
            return None
        self.rounds += 1
        self._path = ordered[0][0]
        return self._path, 0, max_bytes

    def move(self, path: str, position: int) -> None:
        if path == self._path:
            self._position = position
