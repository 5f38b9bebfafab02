"""The files of segments that are open now: opened when they are needed, and not more of them than allowed.

A broker with ten thousand partitions has more segments than a process may have descriptors, and most of them rest. The
one that was not used for longest is closed to make room. What was written to it stays in the page cache, and a sync
through the descriptor that is opened next makes it durable, as POSIX has it: a sync is of the file. Not thread-safe
with a limit; without one nothing is ever closed behind a user's back, so a loop may read while a writer writes.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.storage.filesystem import File, FileSystem

MANY: Final = 1000
"""Descriptors that the logs of partitions share, if the process may have many more."""


class OpenFiles:
    def __init__(self, filesystem: FileSystem, limit: int | None = None) -> None:
        self.filesystem: Final = filesystem
        self._limit = limit
        self._files: dict[str, File] = {}
        """The one used last comes last, when there is a limit."""

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str, *, create: bool = False, write: bool = True) -> File:
        """The open file. Raises FileNotFoundError if it is missing and not to be made."""
        file = self._files.get(path)
        if self._limit is None:
            if file is None:
                file = self._files[path] = self.filesystem.open(path, create=create, write=write)
            return file
        if file is None:
            while len(self._files) >= self._limit:
                self._files.pop(next(iter(self._files))).close()
            file = self.filesystem.open(path, create=create, write=write)
        else:
            del self._files[path]
        self._files[path] = file
        return file

    def close(self, path: str) -> None:
        """Let go of it if it is open."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def close_all(self) -> None:
        while self._files:
            self._files.popitem()[1].close()
