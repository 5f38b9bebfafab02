"""The frozen snapshots beside the metadata log: which there are, how large, and what is in them."""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.log.batches import ScanEnd, scan


class FrozenSnapshots:
    """Whole snapshots, by id. Making and removing files is planned by the log."""

    def __init__(self, filesystem: FileSystem, directory: str) -> None:
        """Those that are there now."""
        self._filesystem = filesystem
        self._directory: Final = directory
        found = (file_names.parse_snapshot_file(name) for name in filesystem.list_directory(directory))
        ids = sorted(one for one in found if one is not None)
        self._sizes = {snapshot: self._size_of(snapshot) for snapshot in ids}

    @property
    def ids(self) -> tuple[OffsetAndEpoch, ...]:
        """Ascending by offset, then epoch."""
        return tuple(self._sizes)

    @property
    def latest(self) -> OffsetAndEpoch | None:
        return next(reversed(self._sizes), None)

    def files(self) -> list[tuple[str, int]]:
        """(path, bytes) of each."""
        return [(self.path(one), size) for one, size in self._sizes.items()]

    def path(self, snapshot_id: OffsetAndEpoch) -> str:
        return join(self._directory, file_names.snapshot_file(snapshot_id))

    def size(self, snapshot_id: OffsetAndEpoch) -> int | None:
        return self._sizes.get(snapshot_id)

    def read(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """A slice of the file; it may cut a batch. Raises KeyError if there is no such snapshot."""
        if snapshot_id not in self._sizes:
            raise KeyError(str(snapshot_id))
        file = self._filesystem.open(self.path(snapshot_id), write=False)
        try:
            return file.read_at(position, max_bytes)
        finally:
            file.close()

    def add(self, snapshot_id: OffsetAndEpoch, size: int | None = None) -> None:
        """It is frozen on the disk."""
        sizes = {**self._sizes, snapshot_id: self._size_of(snapshot_id) if size is None else size}
        self._sizes = dict(sorted(sizes.items()))

    def drop_before(self, offset: int) -> tuple[str, ...]:
        """Forget those that end before `offset`; the names of their files."""
        dropped = [snapshot for snapshot in self._sizes if snapshot.offset < offset]
        for snapshot in dropped:
            del self._sizes[snapshot]
        return tuple(file_names.snapshot_file(snapshot) for snapshot in dropped)

    def _size_of(self, snapshot_id: OffsetAndEpoch) -> int:
        file = self._filesystem.open(self.path(snapshot_id), write=False)
        try:
            return file.size()
        finally:
            file.close()


def check_snapshot(filesystem: FileSystem, path: str) -> None:
    """Raise `CorruptFile` unless the snapshot is whole: only then may a log be given up for it."""
    file = filesystem.open(path, write=False)
    first: BatchHeader | None = None
    last: BatchHeader | None = None
    try:
        for item in scan(file):
            if isinstance(item, ScanEnd):
                raise CorruptFile(path, item.reason, item.position)
            first, last = first or item, item
    finally:
        file.close()
    if first is None or last is None or first is last or not (first.is_control and last.is_control):
        raise CorruptFile(path, "a snapshot begins with its header and ends with its footer")


def check_covers(directory: str, start: int, snapshots: tuple[OffsetAndEpoch, ...]) -> None:
    """A log that starts above zero needs a snapshot of what is missing."""
    if start > 0 and not any(snapshot.offset >= start for snapshot in snapshots):
        reason = f"the log starts at offset {start} and no snapshot covers what is missing"
        raise CorruptFile(join(directory, ""), reason)
