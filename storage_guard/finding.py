"""Where on a volume that somebody else laid out the directory with the metadata log lies. Nothing is changed.

Operators put log directories at the volume's root, in `data`, in `kafka-logN`: so the tree is searched, three folders
deep, for `__cluster_metadata-0`. A volume with several is not guessed about.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.meta_properties import META_PROPERTIES
from storage_guard.formats import BadFormat
from storage_guard.survey import METADATA_LOG

_DEPTH: Final = 3
_MAX_FOLDERS: Final = 10_000
"""Brokers' directories hold a folder for each partition; what is looked at stays bounded."""


def log_directory_below(filesystem: FileSystem, root: str) -> str:
    """The one with the metadata log, or else the one with `meta.properties`, or else the root: nothing is there. Raises
    BadFormat if there are several.
    """
    with_log: list[str] = []
    with_identity: list[str] = []
    level, seen = [root], 0
    for depth in range(_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            names = filesystem.list_directory(directory)
            seen += len(names)
            if seen > _MAX_FOLDERS:
                raise BadFormat(f"say where the log directory is: more than {_MAX_FOLDERS} names are below {root}")
            if METADATA_LOG in names:
                with_log.append(directory)
            if META_PROPERTIES in names:
                with_identity.append(directory)
            elif depth < _DEPTH:
                inside = (join(directory, name) for name in sorted(names) if name != METADATA_LOG)
                below += [each for each in inside if filesystem.is_directory(each)]
        level = below
    found = with_log or with_identity or [root]
    if len(found) > 1:
        raise BadFormat(f"say which log directory: there are {', '.join(found[:5])}")
    return found[0]
