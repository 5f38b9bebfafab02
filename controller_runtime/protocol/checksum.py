"""CRC-32C, as the extension module of the `crc32c` package computes it.

The package's own `__init__` asks `importlib.metadata` for its version and builds a command line, which costs a node 50
ms of its start and 4 MB of memory for two things it never uses. So the extension is loaded by itself; where that does
not work, the package is.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import cast

Checksum = Callable[..., int]
"""(data, value=0) -> the CRC of data that follows data with the CRC `value`."""


def _load() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    places = package.submodule_search_locations if package is not None else None
    found = PathFinder.find_spec("crc32c._crc32c", places) if places is not None else None
    if found is None or found.loader is None:
        import crc32c as whole

        return cast(Checksum, whole.crc32c)
    extension = module_from_spec(found)
    found.loader.exec_module(extension)
    return cast(Checksum, extension.crc32c)


crc32c = _load()
