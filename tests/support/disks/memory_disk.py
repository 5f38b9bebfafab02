"""A disk in memory that knows what is durable, for storage's own tests: crash it after any operation and look at what
is left.

Every operation that changes the disk is counted. `crash_after(n)` lets n of them happen and raises `Crashed` at the
next one. What survives is the worst that POSIX allows within one policy: unsynced file content and names are lost, or
kept in part, as `survivors` is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

from controller_runtime.storage.errors import DirectoryLocked, DiskFailed
from controller_runtime.storage.filesystem import parent

Policy = Literal["synced only", "everything", "half of unsynced", "names without bytes", "bytes without names"]
POLICIES: tuple[Policy, ...] = (
    "synced only", "everything", "half of unsynced", "names without bytes", "bytes without names",
)  # fmt: skip
"""What a crash may leave of names and of bytes that were not synced: none, all, or one of the two."""


class Crashed(BaseException):
    """The machine stopped here."""


@dataclass
class Node:
    """An inode: what readers see, and what is on the platter."""

    data: bytearray = field(default_factory=bytearray)
    durable: bytes = b""


class MemoryFile:
    def __init__(self, disk: MemoryDisk, node: Node) -> None:
        self._disk, self._node = disk, node

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._node.data[position : position + size])

    def write_at(self, position: int, data: bytes) -> None:
        self._disk.count("write")
        node = self._node.data
        node.extend(bytes(max(0, position - len(node))))
        node[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        self._disk.count("truncate")
        node = self._node.data
        node.extend(bytes(max(0, size - len(node))))
        del node[size:]

    def size(self) -> int:
        return len(self._node.data)

    def fdatasync(self) -> None:
        self._disk.count("fdatasync")
        if self._disk.failing_syncs:
            raise DiskFailed("cannot sync: the test said so")
        self._node.durable = bytes(self._node.data)

    def close(self) -> None: ...


class MemoryLock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held, self._path = held, path

    def release(self) -> None:
        self._held.discard(self._path)


class MemoryDisk:
    """A `FileSystem`. Directories are synced names of themselves, for simplicity; files follow the policy."""

    def __init__(self) -> None:
        self.names: dict[str, Node] = {}
        self.durable_names: dict[str, Node] = {}
        self.directories: set[str] = {"/"}
        self.operations: list[str] = []
        self.limit: int | None = None
        self.failing_syncs = False
        self.modified: dict[str, int] = {}
        """Of files whose time was set; of others it is 0."""
        self._locks: set[str] = set()

    def count(self, operation: str) -> None:
        if self.limit is not None and len(self.operations) >= self.limit:
            raise Crashed(operation)
        self.operations.append(operation)

    def crash_after(self, operations: int) -> None:
        self.limit = len(self.operations) + operations

    def survivors(self, policy: Policy) -> MemoryDisk:
        """The disk as the next start finds it."""
        after = MemoryDisk()
        after.directories = set(self.directories)
        names = self.names if policy in ("everything", "names without bytes") else self.durable_names
        all_bytes = policy in ("everything", "bytes without names")
        for path, node in names.items():
            data = _half(node) if policy == "half of unsynced" else bytes(node.data) if all_bytes else node.durable
            after.names[path] = Node(bytearray(data), data)
        after.durable_names = dict(after.names)
        return after

    def torn(self, kept_bytes: int) -> MemoryDisk:
        """All names survive; of what was added to a file since its last sync, the first `kept_bytes`."""
        after = self.survivors("everything")
        for path, node in self.names.items():
            if bytes(node.data).startswith(node.durable):
                data = bytes(node.data[: len(node.durable) + kept_bytes])
                after.names[path] = after.durable_names[path] = Node(bytearray(data), data)
        return after

    @property
    def most_unsynced_bytes(self) -> int:
        """Of one file."""
        return max((len(node.data) - len(node.durable) for node in self.names.values()), default=0)

    def open(self, path: str, *, create: bool = False, write: bool = True) -> MemoryFile:
        if path not in self.names:
            if not create or parent(path) not in self.directories:
                raise FileNotFoundError(path)
            self.count("create")
            self.names[path] = Node()
        return MemoryFile(self, self.names[path])

    def exists(self, path: str) -> bool:
        return path in self.names or path in self.directories

    def is_directory(self, path: str) -> bool:
        return path in self.directories

    def list_directory(self, path: str) -> list[str]:
        if path not in self.directories:
            raise FileNotFoundError(path)
        return sorted(
            name.rpartition("/")[2] for name in (*self.names, *self.directories) if parent(name) == path != name
        )

    def make_directories(self, path: str) -> None:
        if path not in self.directories:
            self.make_directories(parent(path))
            self.count("mkdir")
            self.directories.add(path)

    def remove(self, path: str) -> None:
        self.count("remove")
        del self.names[path]

    def remove_directory(self, path: str) -> None:
        self.count("rmdir")
        self.directories.discard(path)

    def rename(self, source: str, target: str) -> None:
        self.count("rename")
        if source in self.directories:
            self._rename_directory(source, target)
        else:
            self.names[target] = self.names.pop(source)
            self.modified[target] = self.modified.pop(source, 0)

    def _rename_directory(self, source: str, target: str) -> None:
        def moved(path: str) -> str:
            inside = path == source or path.startswith(source + "/")
            return target + path[len(source) :] if inside else path

        self.directories = {moved(path) for path in self.directories}
        self.names = {moved(path): node for path, node in self.names.items()}
        self.durable_names = {moved(path): node for path, node in self.durable_names.items()}

    def sync_directory(self, path: str) -> None:
        self.count("sync directory")
        for name in [name for name in self.durable_names if parent(name) == path]:
            del self.durable_names[name]
        self.durable_names.update({name: node for name, node in self.names.items() if parent(name) == path})

    def make_read_only(self, path: str) -> None:
        self.count("chmod")

    def modified_ms(self, path: str) -> int:
        return self.modified.get(path, 0)

    def set_modified(self, path: str, wall_ms: int) -> None:
        self.modified[path] = wall_ms

    def size_of(self, path: str) -> int:
        if path not in self.names:
            raise FileNotFoundError(path)
        return len(self.names[path].data)

    def names_stamp(self, path: str) -> int:
        """Of the names alone: what else a crash took is for the reader to find out."""
        return crc32("/".join(self.list_directory(path)).encode())

    def lock(self, path: str) -> MemoryLock:
        if path in self._locks:
            raise DirectoryLocked(path)
        self._locks.add(path)
        return MemoryLock(self._locks, path)


def _half(node: Node) -> bytes:
    """The synced bytes, and half of what was added since: a torn write."""
    synced, now = node.durable, bytes(node.data)
    if not now.startswith(synced):
        return synced
    return now[: len(synced) + (len(now) - len(synced)) // 2]
