"""What can be wrong with a disk, as types that name the culprit.

`CorruptFile` is for bytes that recovery cannot explain: it names file and offset and is never repaired silently.
`DiskFailed` is for a write or sync that the kernel refused: after a failed fdatasync nobody knows what the page cache
still holds, so the log that met it never writes again and the process must end. Both are fatal to the node, never to
the data.
"""

from __future__ import annotations


class StorageError(Exception):
    """Base of everything that this package raises about a disk."""


class CorruptFile(StorageError):
    """A file holds bytes that no crash of ours can explain, or that cannot be read at all."""

    def __init__(self, path: str, reason: str, offset: int | None = None) -> None:
        where = path if offset is None else f"{path} at byte {offset}"
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


class UnreadableFile(CorruptFile):
    """The kernel refused to read it: nothing is known of its bytes."""


class DiskFailed(StorageError):
    """The kernel refused a write or a sync. Nothing written since the last successful sync may be trusted."""


class DiskFull(DiskFailed):
    """There is no room for these bytes. Fatal for a log; a snapshot of our own can be given up instead."""


class DirectoryLocked(StorageError):
    """Another process holds the directory's `.lock`."""


class InvalidOffset(StorageError):
    """An append, read or truncation that does not fit the log: our caller's mistake, or a peer's."""


class IndexOverflow(StorageError):
    """An offset or a place that does not fit the 32 bits which Kafka's indexes have for it, counted from the segment's
    beginning.
    """
