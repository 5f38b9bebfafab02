"""The few file operations that logs need, as a protocol, and their production form.

Everything in `storage` goes through `FileSystem`, so that the simulator can bring a disk that loses what was not synced
and tears writes. The contract that such a disk must honour, and that all code above relies on, is POSIX's and no more:

* `write_at` and `truncate` are readable at once, durable only after `fdatasync` of that file returned;
* a new name, a rename and a removal are durable only after `sync_directory` of the parent returned;
* before that, a crash may keep any prefix, any part, or nothing of them;
* a `fdatasync` that raises has lost data: it is fatal, and must never be tried again.

Paths are plain strings with "/" between the parts; `join` makes them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Final, Protocol

from controller_runtime.storage.errors import DirectoryLocked, DiskFailed, DiskFull, UnreadableFile

_READ_ONLY_MODE: Final = 0o400


class File(Protocol):
    """An open file. Reads and writes carry their position: there is no shared cursor, so a thread may write while
    another reads.
    """

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file. Raises `CorruptFile` when the disk cannot
        give them.
        """

    def write_at(self, position: int, data: bytes) -> None:
        """Write all of it, or raise. Writing past the end extends the file."""

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def fdatasync(self) -> None:
        """Return when content and size are durable; raise `DiskFailed` when they may not be."""

    def close(self) -> None: ...


class Lock(Protocol):
    """A held directory lock. The kernel drops it when the process dies."""

    def release(self) -> None: ...


class FileSystem(Protocol):
    """Names and files. Missing files raise FileNotFoundError, as Python's own functions do."""

    def open(self, path: str, *, create: bool = False, write: bool = True) -> File:
        """Open for reading, and for writing unless `write` is false. `create` makes a missing file (empty), never
        truncates.
        """

    def exists(self, path: str) -> bool: ...

    def is_directory(self, path: str) -> bool: ...

    def list_directory(self, path: str) -> list[str]:
        """The names in it, sorted."""

    def make_directories(self, path: str) -> None:
        """Make the directory and its parents; each new name is synced into its parent."""

    def remove(self, path: str) -> None: ...

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""

    def rename(self, source: str, target: str) -> None:
        """Atomically replace `target`."""

    def sync_directory(self, path: str) -> None: ...

    def make_read_only(self, path: str) -> None: ...

    def modified_ms(self, path: str) -> int:
        """When the file's content changed last, in milliseconds of wall time."""

    def set_modified(self, path: str, wall_ms: int) -> None:
        """Say that it was then. Nothing depends on its being durable."""

    def size_of(self, path: str) -> int:
        """Of a file that is not open."""

    def names_stamp(self, path: str) -> int:
        """Another number when a name in this directory came, went or was given to another file since."""

    def lock(self, path: str) -> Lock:
        """Take the exclusive lock on this file (made if missing), or raise `DirectoryLocked`."""


def join(directory: str, *names: str) -> str:
    """A path below a directory."""
    return "/".join((directory.rstrip("/"), *names))


def parent(path: str) -> str:
    """The directory that holds this name."""
    head = path.rstrip("/").rpartition("/")[0]
    return head or ("/" if path.startswith("/") else ".")


def read_whole(filesystem: FileSystem, path: str) -> bytes:
    """All bytes of a file."""
    file = filesystem.open(path, write=False)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def _refused(what: str, error: OSError) -> DiskFailed:
    kind = DiskFull if error.errno in _NO_ROOM else DiskFailed
    return kind(f"{what}: {error.strerror}")


class OsFile:
    """A file descriptor with positions."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path

    def read_at(self, position: int, size: int) -> bytes:
        try:
            return self._read_at(position, size)
        except OSError as error:
            raise UnreadableFile(self._path, f"cannot be read: {error.strerror}", position) from error

    def _read_at(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        have = len(data)
        while have < size and (more := os.pread(self._descriptor, size - have, position + have)):
            parts.append(more)
            have += len(more)
        return b"".join(parts)

    def write_at(self, position: int, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                written = os.pwrite(self._descriptor, view, position)
                view = view[written:]
                position += written
        except OSError as error:
            raise _refused(f"cannot write to {self._path}", error) from error

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise _refused(f"cannot truncate {self._path}", error) from error

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def fdatasync(self) -> None:
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise _refused(f"cannot sync {self._path}", error) from error

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class OsLock:
    """A POSIX record lock on the whole file: what Java's FileChannel.tryLock takes, so the two exclude each other."""

    __slots__ = ("_descriptor", "_identity")

    # POSIX locks belong to the process: a second lock of the same file by this process would succeed, and closing any
    # of its descriptors would drop the lock. So the process remembers which files it holds, as the Java virtual machine
    # does.
    _held: Final[set[tuple[int, int]]] = set()

    def __init__(self, path: str) -> None:
        status = _status(path)
        if status is not None and (status.st_dev, status.st_ino) in self._held:
            raise DirectoryLocked(f"{path} is already locked by this process")
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise DirectoryLocked(f"{path} is locked by another process") from error
            raise
        opened = os.fstat(self._descriptor)
        self._identity = (opened.st_dev, opened.st_ino)
        self._held.add(self._identity)

    def release(self) -> None:
        if self._descriptor >= 0:
            self._held.discard(self._identity)
            os.close(self._descriptor)
            self._descriptor = -1


class OsFileSystem:
    """The operating system's files."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False, write: bool = True) -> OsFile:
        flags = (os.O_RDWR if write else os.O_RDONLY) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
        return OsFile(os.open(path, flags, 0o644), path)

    def exists(self, path: str) -> bool:
        return _status(path) is not None

    def is_directory(self, path: str) -> bool:
        status = _status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def list_directory(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_directories(self, path: str) -> None:
        if self.is_directory(path):
            return
        above = parent(path)
        if above != path:
            self.make_directories(above)
        os.mkdir(path)
        self.sync_directory(above)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise _refused(f"cannot sync directory {path}", error) from error
        finally:
            os.close(descriptor)

    def make_read_only(self, path: str) -> None:
        os.chmod(path, _READ_ONLY_MODE)

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified(self, path: str, wall_ms: int) -> None:
        os.utime(path, ns=(wall_ms * 1_000_000, wall_ms * 1_000_000))

    def size_of(self, path: str) -> int:
        return os.stat(path).st_size

    def names_stamp(self, path: str) -> int:
        return os.stat(path).st_mtime_ns

    def lock(self, path: str) -> OsLock:
        return OsLock(path)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
