"""A node's log directories at start: locked, checked, and known by their ids.

Fail closed: a directory that is not formatted, belongs to another node or cluster, or is locked by another process
stops the start with an error that names it. Nothing here ever formats a directory that has no `meta.properties`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller_runtime.identifiers import DirectoryId, NodeId
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, Lock, join
from controller_runtime.storage.meta_properties import load_ensemble, save_meta_properties
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from controller_runtime.values import dataclass, replace

LOCK: Final = ".lock"


class NotFormatted(StorageError):
    """A log directory that `kafka-storage format` has not been run on."""


@dataclass(frozen=True, slots=True)
class NodeDirectories:
    """The directories of a running node. Hold on to it: the locks live as long as it."""

    cluster_id: str
    node_id: NodeId
    metadata_dir: str
    log_dirs: tuple[str, ...]
    ids: Mapping[str, DirectoryId]
    locks: tuple[Lock, ...]

    @property
    def metadata_log(self) -> str:
        """The directory of the metadata log."""
        return join(self.metadata_dir, METADATA_DIRECTORY)

    @property
    def metadata_directory_id(self) -> DirectoryId:
        return self.ids[self.metadata_dir]

    def release(self) -> None:
        for lock in self.locks:
            lock.release()


def open_directories(
    filesystem: FileSystem,
    log_dirs: Sequence[str],
    *,
    metadata_dir: str,
    node_id: NodeId,
    new_directory_id: Callable[[], DirectoryId],
    date: str,
) -> NodeDirectories:
    """Lock all directories, then check that they are formatted and this node's. Directories without an id are given
    one.
    """
    every = sorted({*log_dirs, metadata_dir})
    for directory in every:
        if not filesystem.is_directory(directory):
            raise NotFormatted(f"log directory {directory} does not exist: run kafka-storage format first")
    locks: list[Lock] = []
    try:
        for directory in every:
            locks.append(filesystem.lock(join(directory, LOCK)))
        ensemble = load_ensemble(filesystem, log_dirs, metadata_dir)
        for error in ensemble.errors.values():
            raise StorageError(error)
        if ensemble.empty:
            raise NotFormatted(f"no meta.properties in {', '.join(ensemble.empty)}: run kafka-storage format first")
        ensemble.check(node_id=node_id)
        ids: dict[str, DirectoryId] = {}
        for directory, found in ensemble.formatted.items():
            ids[directory] = found.directory_id or new_directory_id()
            if found.directory_id is None:
                save_meta_properties(filesystem, directory, replace(found, directory_id=ids[directory]), date)
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    identity = ensemble.identity
    assert identity is not None, "every directory is formatted"
    return NodeDirectories(identity.cluster_id, node_id, metadata_dir, tuple(log_dirs), ids, tuple(locks))
