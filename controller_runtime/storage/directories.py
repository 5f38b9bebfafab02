"""A node's log directories at start: locked, checked, and known by their ids.

Fail closed: a directory that is missing or not formatted, belongs to another node or cluster, or is locked by another
process stops the start with an error that names it. Nothing here ever formats a directory that has no
`meta.properties`. As in Kafka one that a disk refuses to read is offline, and the others go on; that of the metadata
log cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller_runtime.identifiers import DirectoryId, NodeId
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, Lock, join
from controller_runtime.storage.meta_properties import load_ensemble, save_meta_properties
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from controller_runtime.values import dataclass, field, replace

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
    offline: Mapping[str, str] = field(default_factory=dict)
    """Log directories that a disk refused to read, and what it said; their ids are not known."""

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
    offline: dict[str, str] = {}
    locks: list[Lock] = []
    try:
        for directory in sorted({*log_dirs, metadata_dir}):
            try:
                if not filesystem.exists(directory):
                    raise NotFormatted(f"log directory {directory} does not exist: run kafka-storage format first")
                if filesystem.is_directory(directory):
                    locks.append(filesystem.lock(join(directory, LOCK)))
            except OSError as error:
                offline[directory] = f"{directory} cannot be locked: {error.strerror}"
        ensemble = load_ensemble(filesystem, [path for path in log_dirs if path not in offline], metadata_dir)
        offline.update(ensemble.unreadable)
        if metadata_dir in offline:
            raise StorageError(f"replace the disk of the metadata log: {offline[metadata_dir]}")
        for directory, error_text in ensemble.errors.items():
            if directory not in offline:
                raise StorageError(error_text)
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
    return NodeDirectories(
        identity.cluster_id,
        node_id,
        metadata_dir,
        log_dirs=tuple(log_dirs),
        ids=ids,
        locks=tuple(locks),
        offline={path: offline[path] for path in log_dirs if path in offline},
    )
