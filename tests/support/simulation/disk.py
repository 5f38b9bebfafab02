"""A disk in memory with POSIX's promises and no more: what was not synced may survive a power loss wholly, in part,
torn, or not at all.

`kill` is the end of a process: the kernel keeps what was written. `power_loss` is the end of the machine: of each file
the synced content survives, and of the writes since then an arbitrary part, the last one perhaps torn; of each
directory the synced names, and a prefix of the changes since. Chance comes from the schedule's generator, so a seed
decides what is lost. A disk may also be full, or fail a sync.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from zlib import crc32

from controller_runtime.storage.errors import DirectoryLocked, DiskFailed, DiskFull
from controller_runtime.storage.filesystem import parent


class Crashed(BaseException):
    """The machine stopped in the middle of an operation."""


@dataclass(slots=True)
class Inode:
    data: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes (position, bytes) and truncations (size, None) since the last sync."""
    rotten: bool = False
    """A bit of it turned over."""

    def write(self, position: int, data: bytes) -> None:
        self.unsynced.append((position, data))
        _apply(self.data, position, data)

    def truncate(self, size: int) -> None:
        self.unsynced.append((size, None))
        _apply(self.data, size, None)

    def sync(self) -> None:
        """Only what is dirty is written: a page that was lost by a failed sync is not written by the next one."""
        for position, data in self.unsynced:
            _apply(self.durable, position, data)
        self.unsynced.clear()

    def lose(self, rng: Random) -> None:
        """What the platter holds after a power loss, or after a sync that failed."""
        for position, data in self.unsynced:
            match rng.randrange(4):
                case 0:
                    continue
                case 1 if data:
                    _apply(self.durable, position, data[: rng.randrange(len(data))])
                case _:
                    _apply(self.durable, position, data)
        self.unsynced.clear()
        self.data = bytearray(self.durable)


def _apply(data: bytearray, position: int, written: bytes | None) -> None:
    if written is None:
        data.extend(bytes(max(0, position - len(data))))
        del data[position:]
    else:
        data.extend(bytes(max(0, position - len(data))))
        data[position : position + len(written)] = written


class SimFile:
    __slots__ = ("_disk", "_inode", "_path")

    def __init__(self, disk: SimDisk, inode: Inode, path: str) -> None:
        self._disk, self._inode, self._path = disk, inode, path

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._inode.data[position : position + size])

    def write_at(self, position: int, data: bytes) -> None:
        self._disk.spend()
        if self._disk.is_full:
            raise DiskFull(f"{self._path}: No space left on device")
        self._inode.write(position, data)

    def truncate(self, size: int) -> None:
        self._disk.spend()
        self._inode.truncate(size)

    def size(self) -> int:
        return len(self._inode.data)

    def durable_size(self) -> int:
        """How much of the file is on the platter and not dirty."""
        dirty = [position for position, _ in self._inode.unsynced]
        return min([len(self._inode.durable), *dirty])

    def fdatasync(self) -> None:
        self._disk.spend()
        if self._disk.sync_fails():
            self._inode.lose(self._disk.rng)
            raise DiskFailed(f"{self._path}: Input/output error")
        self._inode.sync()

    def close(self) -> None: ...


class SimLock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held, self._path = held, path

    def release(self) -> None:
        self._held.discard(self._path)


class SimDisk:
    """A `FileSystem`. Directories are durable when made."""

    def __init__(self, rng: Random | None = None) -> None:
        self.rng = rng or Random(0)
        self._names: dict[str, Inode] = {}
        self._durable_names: dict[str, Inode] = {}
        self._changes: list[tuple[str, Inode | None]] = []
        self._directories: set[str] = {"/"}
        self._locks: set[str] = set()
        self.operations_left: int | None = None
        """After this many more changes the machine stops; None: never."""
        self.failing_sync: int | None = None
        """The sync after this many fails, once, and loses what was not synced (Linux marks such pages clean:
        "fsyncgate", 2018).
        """
        self.is_full = False

    def sync_fails(self) -> bool:
        if self.failing_sync is None:
            return False
        self.failing_sync -= 1
        if self.failing_sync >= 0:
            return False
        self.failing_sync = None
        return True

    def spend(self) -> None:
        if self.operations_left is not None:
            if self.operations_left <= 0:
                raise Crashed
            self.operations_left -= 1

    # The end of a process, or of the machine.

    def kill(self) -> None:
        self.operations_left = self.failing_sync = None
        self.is_full = False
        self._locks.clear()

    def power_loss(self, rng: Random) -> None:
        self.kill()
        kept = rng.randint(0, len(self._changes))
        names = dict(self._durable_names)
        for path, inode in self._changes[:kept]:
            if inode is None:
                names.pop(path, None)
            else:
                names[path] = inode
        for inode in {id(inode): inode for inode in names.values()}.values():
            inode.lose(rng)
        self._names, self._durable_names, self._changes = names, dict(names), []

    def wipe(self) -> None:
        """A new, empty disk."""
        self.kill()
        self._names, self._durable_names, self._changes = {}, {}, []
        self._directories = {"/"}

    def copy(self) -> SimDisk:
        """A backup of what is readable now."""
        copy = SimDisk(self.rng)
        copy.take(self)
        return copy

    def take(self, other: SimDisk) -> None:
        """All that is readable on another disk now, and nothing else."""
        self.kill()
        self._names = {
            path: Inode(bytearray(of.data), bytearray(of.data), rotten=of.rotten) for path, of in other._names.items()
        }
        self._durable_names, self._changes = dict(self._names), []
        self._directories = set(other._directories)

    # Bit rot.

    def rot(self, path: str, rng: Random) -> None:
        """One bit of a file that was synced turns over."""
        inode = self._names[path]
        at, bit = rng.randrange(len(inode.durable)), 1 << rng.randrange(8)
        for data in (inode.data, inode.durable):
            data[at] ^= bit
        inode.rotten = True

    @property
    def is_rotten(self) -> bool:
        return any(inode.rotten for inode in self._names.values())

    # FileSystem.

    def open(self, path: str, *, create: bool = False, write: bool = True) -> SimFile:
        inode = self._names.get(path)
        if inode is None:
            if not create or parent(path) not in self._directories:
                raise FileNotFoundError(path)
            self.spend()
            inode = self._names[path] = Inode()
            self._changes.append((path, inode))
        return SimFile(self, inode, path)

    def exists(self, path: str) -> bool:
        return path in self._names or path in self._directories

    def is_directory(self, path: str) -> bool:
        return path in self._directories

    def list_directory(self, path: str) -> list[str]:
        if path not in self._directories:
            raise FileNotFoundError(path)
        return sorted(n.rpartition("/")[2] for n in (*self._names, *self._directories) if parent(n) == path != n)

    def make_directories(self, path: str) -> None:
        if path not in self._directories:
            self.make_directories(parent(path))
            self._directories.add(path)

    def remove(self, path: str) -> None:
        self.spend()
        del self._names[path]
        self._changes.append((path, None))

    def remove_directory(self, path: str) -> None:
        self._directories.discard(path)

    def rename(self, source: str, target: str) -> None:
        self.spend()
        if source in self._directories:
            self._rename_directory(source, target)
            return
        inode = self._names[target] = self._names.pop(source)
        # One atomic change: a crash shows the old names or the new ones.
        self._changes.append((target, inode))
        self._changes.append((source, None))

    def _rename_directory(self, source: str, target: str) -> None:
        """Durable at once, as directories are when they are made."""

        def renamed(path: str) -> str:
            return target + path[len(source) :] if path == source or path.startswith(f"{source}/") else path

        self._directories = {renamed(path) for path in self._directories}
        self._names = {renamed(path): inode for path, inode in self._names.items()}
        self._durable_names = {renamed(path): inode for path, inode in self._durable_names.items()}
        self._changes = [(renamed(path), inode) for path, inode in self._changes]

    def sync_directory(self, path: str) -> None:
        self.spend()
        if self.sync_fails():
            raise DiskFailed(f"{path}: Input/output error")
        left: list[tuple[str, Inode | None]] = []
        for name, inode in self._changes:
            if parent(name) != path:
                left.append((name, inode))
            elif inode is None:
                self._durable_names.pop(name, None)
            else:
                self._durable_names[name] = inode
        self._changes = left

    def make_read_only(self, path: str) -> None: ...

    def modified_ms(self, path: str) -> int:
        return 0

    def set_modified(self, path: str, wall_ms: int) -> None: ...

    def size_of(self, path: str) -> int:
        if path not in self._names:
            raise FileNotFoundError(path)
        return len(self._names[path].data)

    def names_stamp(self, path: str) -> int:
        """Of the names alone: what else a crash took is for the reader to find out."""
        return crc32("/".join(self.list_directory(path)).encode())

    def lock(self, path: str) -> SimLock:
        if path in self._locks:
            raise DirectoryLocked(path)
        self._locks.add(path)
        return SimLock(self._locks, path)
