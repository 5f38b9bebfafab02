"""Files wherever they lie: a local path, or anything that pyarrow reads (s3://, gs://, abfs://, hdfs://, file://).

A file is named by one string, so that a name can travel to another machine and be opened there. The only way to read is
`read_at`, which may come back short: a log is being written, truncated and deleted while we look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self

import pyarrow as pa
from pyarrow import fs

SCHEME: Final = "://"


@dataclass(frozen=True, slots=True)
class Place:
    """A file system, and how its own paths become names that can be opened anywhere."""

    system: Any
    prefix: str = ""
    suffix: str = ""

    def name_of(self, path: str) -> str:
        return f"{self.prefix}{path}{self.suffix}"


@lru_cache(maxsize=1)
def local() -> Any:
    return fs.LocalFileSystem()


def locate(name: str, system: Any = None) -> tuple[Place, str]:
    """Where a name leads: the place, and the path there. Raises OSError or ValueError for a scheme that pyarrow cannot
    open.
    """
    if system is not None:
        return Place(system), name
    if SCHEME not in name:
        return Place(local()), name
    opened, path = fs.FileSystem.from_uri(name)
    scheme, _, rest = name.partition(SCHEME)
    query = rest.partition("?")[2]
    return Place(opened, f"{scheme}{SCHEME}", f"?{query}" if query else ""), path


class OpenFile:
    """One open file. Use as a context manager."""

    def __init__(self, name: str, system: Any = None) -> None:
        place, path = locate(name, system)
        self._file = place.system.open_input_file(path)

    def size(self) -> int:
        return int(self._file.size())

    def read_at(self, position: int, length: int) -> bytes:
        """At most `length` bytes; fewer when the file has no more."""
        size = self.size()
        if position >= size:
            return b""
        return bytes(self._file.read_at(min(length, size - position), position))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class HeldFiles:
    """Files whose bytes are held in memory, opened as those of a file system are."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def open_input_file(self, name: str) -> pa.BufferReader:
        return pa.BufferReader(self._files[name])


def read_small(place: Place, path: str, limit: int = 1 << 20) -> bytes:
    """A small file's bytes. Raises OSError."""
    with place.system.open_input_file(path) as file:
        return bytes(file.read(limit))
