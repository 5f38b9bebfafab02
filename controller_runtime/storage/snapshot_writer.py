"""Writing a snapshot of this node's own to its disk, batch by batch, beside the log that goes on.

Memory holds one batch. Bytes are synced as they come, a mebibyte at a time, so that no sync of the log ever waits
behind a whole snapshot. The file has a name that every start removes until it is whole, synced and read-only; then it
is renamed and the directory synced. So a crash leaves the snapshot or nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import DiskFailed, DiskFull
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.log.disk_work import remove_files
from controller_runtime.values import dataclass

_SYNC_BYTES: Final = 1 << 20


class SnapshotGivenUp(Exception):
    """The snapshot was not written and left nothing behind. The log does not need it."""


@dataclass(frozen=True, slots=True)
class SnapshotWrite:
    """Work for a thread of its own. `perform` runs anywhere, once; then the loop calls
    `MetadataLog.snapshot_written`.
    """

    filesystem: FileSystem
    directory: str
    snapshot_id: OffsetAndEpoch

    def perform(self, batches: Iterable[bytes], pause: Callable[[], None] = lambda: None) -> int:
        """Write, sync and freeze; the size in bytes. `pause` is called between batches and may raise `SnapshotGivenUp`.

        Raises `SnapshotGivenUp` when the disk is full, `DiskFailed` for every other refusal: that is fatal, as it is
        for the log.
        """
        try:
            size = self._write_part(batches, pause)
            self.filesystem.make_read_only(self._part)
            self.filesystem.rename(self._part, join(self.directory, file_names.snapshot_file(self.snapshot_id)))
            self.filesystem.sync_directory(self.directory)
        except DiskFull as error:
            self._remove_part()
            raise SnapshotGivenUp(str(error)) from error
        except SnapshotGivenUp:
            self._remove_part()
            raise
        except OSError as error:
            raise DiskFailed(f"{error.filename or self._part}: {error.strerror}") from error
        return size

    @property
    def _part(self) -> str:
        return join(self.directory, file_names.own_part_file(self.snapshot_id))

    def _write_part(self, batches: Iterable[bytes], pause: Callable[[], None]) -> int:
        self._remove_part()
        file = self.filesystem.open(self._part, create=True)
        size = synced = 0
        try:
            for batch in batches:
                file.write_at(size, batch)
                size += len(batch)
                if size - synced >= _SYNC_BYTES:
                    file.fdatasync()
                    synced = size
                pause()
            file.fdatasync()
        finally:
            file.close()
        return size

    def _remove_part(self) -> None:
        remove_files(self.filesystem, self.directory, [file_names.own_part_file(self.snapshot_id)])
