"""`meta.properties`: whose directory this is. Every log directory of a node carries one, and they must agree.

Version 1 is Kafka's: cluster.id, node.id, directory.id. The file is Java properties text with two comment lines; Java's
hash map gives the keys their odd order, which is kept so that our file differs from Java's in the date alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.storage.errors import CorruptFile, StorageError, UnreadableFile
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.small_files import write_atomically
from controller_runtime.values import dataclass, field

META_PROPERTIES: Final = "meta.properties"
_JAVA_ORDER: Final = ("node.id", "directory.id", "version", "cluster.id")


class DirectoriesDisagree(StorageError):
    """The log directories of one node tell different stories."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Who a directory belongs to. `directory_id` is missing in directories made before Kafka 3.7."""

    cluster_id: str
    node_id: NodeId
    directory_id: DirectoryId | None = None

    def __str__(self) -> str:
        """As `kafka-storage info` prints it: sorted by key."""
        rows = {"cluster.id": self.cluster_id, "node.id": str(self.node_id), "version": "1"}
        if self.directory_id is not None:
            rows["directory.id"] = str(self.directory_id)
        return "{" + ", ".join(f"{key}={rows[key]}" for key in sorted(rows)) + "}"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """All log directories of a node as found: formatted, empty (formatted never), or with an error."""

    metadata_dir: str
    formatted: Mapping[str, MetaProperties]
    empty: tuple[str, ...]
    errors: Mapping[str, str]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Those of `errors` that say nothing about whose it is, because a disk refused to be read."""

    @property
    def identity(self) -> MetaProperties | None:
        """What the directories say together: the metadata directory's word first."""
        return self.formatted.get(self.metadata_dir) or next(iter(self.formatted.values()), None)

    def check(self, node_id: NodeId | None = None, cluster_id: str | None = None) -> None:
        """Raise `DirectoriesDisagree` unless all directories belong to one node of one cluster (these, when given)."""
        first = self.identity
        if first is None:
            return
        seen: dict[DirectoryId, str] = {}
        for path, found in self.formatted.items():
            for name, theirs, wanted in (
                ("cluster.id", found.cluster_id, cluster_id or first.cluster_id),
                ("node.id", found.node_id, first.node_id if node_id is None else node_id),
            ):
                if theirs != wanted:
                    raise DirectoriesDisagree(f"{join(path, META_PROPERTIES)} has {name}={theirs}, expected {wanted}")
            if found.directory_id is not None:
                if found.directory_id in seen:
                    both = f"{seen[found.directory_id]} and {path}"
                    raise DirectoriesDisagree(f"directory.id {found.directory_id} is in both {both}")
                seen[found.directory_id] = path


def encode_meta_properties(properties: MetaProperties, date: str) -> bytes:
    """The file's text; `date` is the comment that Java writes, such as `Sat Nov 21 00:22:15 UTC 2026`."""
    rows = {"node.id": str(properties.node_id), "version": "1", "cluster.id": properties.cluster_id}
    if properties.directory_id is not None:
        rows["directory.id"] = str(properties.directory_id)
    lines = ["#", f"#{date}", *(f"{key}={rows[key]}" for key in _JAVA_ORDER if key in rows)]
    return ("\n".join(lines) + "\n").encode()


def decode_meta_properties(data: bytes, path: str) -> MetaProperties:
    rows: dict[str, str] = {}
    for line in data.decode("latin-1").splitlines():
        if line.strip() and line[0] not in "#!":
            key, separator, value = line.partition("=")
            if not separator:
                raise CorruptFile(path, f"not a property: {line!r}")
            rows[key.strip()] = value.strip().replace("\\", "")
    if rows.get("version") != "1":
        raise CorruptFile(path, f"version {rows.get('version')!r}, only 1 is known")
    try:
        directory = rows.get("directory.id")
        return MetaProperties(
            cluster_id=rows["cluster.id"],
            node_id=NodeId(int(rows["node.id"])),
            directory_id=None if directory is None else DirectoryId(Uuid.parse(directory)),
        )
    except KeyError as error:
        raise CorruptFile(path, f"{error.args[0]} is missing") from error
    except ValueError as error:
        raise CorruptFile(path, str(error)) from error


def load_ensemble(filesystem: FileSystem, directories: Sequence[str], metadata_dir: str) -> Ensemble:
    """Read every directory's `meta.properties`; problems are collected, not raised."""
    formatted: dict[str, MetaProperties] = {}
    empty: list[str] = []
    errors: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for directory in sorted({*directories, metadata_dir}):
        path = join(directory, META_PROPERTIES)
        try:
            if not filesystem.is_directory(directory):
                is_there = filesystem.exists(directory)
                errors[directory] = f"{directory} {'is not a directory' if is_there else 'does not exist'}"
                if is_there:
                    unreadable[directory] = errors[directory]
            elif not filesystem.exists(path):
                empty.append(directory)
            else:
                formatted[directory] = decode_meta_properties(read_whole(filesystem, path), path)
        except UnreadableFile as error:
            errors[directory] = unreadable[directory] = str(error)
        except CorruptFile as error:
            errors[directory] = str(error)
        except OSError as error:
            errors[directory] = unreadable[directory] = f"{directory} cannot be read: {error.strerror}"
    return Ensemble(metadata_dir, formatted, tuple(empty), errors, unreadable)


def save_meta_properties(filesystem: FileSystem, directory: str, properties: MetaProperties, date: str) -> None:
    write_atomically(filesystem, join(directory, META_PROPERTIES), encode_meta_properties(properties, date))
