"""A node's volume: the log directory of Apache Kafka and, beside it, our marker.

Reading never changes anything and never raises: what cannot be read becomes `VolumeFacts.problem`. It works on a
read-only mount, on a torn log (the end is that of the last whole batch, which is where recovery will cut), and on a
directory that is in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, join, parent, read_whole
from controller_runtime.storage.log.batches import scan
from controller_runtime.storage.meta_properties import META_PROPERTIES, decode_meta_properties
from controller_runtime.storage.small_files import TEMPORARY, write_atomically
from storage_guard.facts import DirectoryIdentity, LogEnd, VolumeFacts
from storage_guard.formats import MAX_JSON_SIZE_BYTES, BadFormat, Marker
from storage_guard.survey import METADATA_LOG, last_voters

MARKER: Final = "storage-identity.json"
ASIDE: Final = "log.generation-"
"""An old directory that a recovery of the quorum took out of the way."""
WORK: Final = "log.recovery-"
"""A directory that a recovery was making when it was interrupted."""
_HARMLESS: Final = frozenset({"lost+found", MARKER, MARKER + TEMPORARY})
_MAX_META_PROPERTIES_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Volume:
    filesystem: FileSystem
    log_directory: str

    @property
    def root(self) -> str:
        return parent(self.log_directory)

    def read(self) -> VolumeFacts:
        try:
            return self._read()
        except (OSError, StorageError, BadFormat, ValueError) as error:
            return VolumeFacts(problem=str(error) or repr(error))

    def write_marker(self, marker: Marker) -> None:
        """Durable when it returns."""
        write_atomically(self.filesystem, join(self.root, MARKER), (marker.to_json() + "\n").encode())

    def _read(self) -> VolumeFacts:
        beside = self.filesystem.list_directory(self.root)
        own = self.log_directory.rstrip("/").rpartition("/")[2]
        names = self.filesystem.list_directory(self.log_directory) if own in beside else []
        identity = self._identity() if META_PROPERTIES in names else None
        marker = self._marker() if MARKER in beside else None
        log_end = self._log_end() if METADATA_LOG in names else None
        strange = identity is not None and marker is None and log_end is not None
        return VolumeFacts(
            identity=identity,
            marker=marker,
            log_end=log_end,
            static_voters=strange and last_voters(self.filesystem, join(self.log_directory, METADATA_LOG)) is None,
            leftovers=() if identity else tuple(name for name in names if name != "lost+found"),
            strangers=tuple(name for name in beside if not _harmless(name) and name != own),
        )

    def _identity(self) -> DirectoryIdentity:
        path = join(self.log_directory, META_PROPERTIES)
        found = decode_meta_properties(self._small(path, _MAX_META_PROPERTIES_BYTES), path)
        if not 0 <= found.node_id < 1 << 31:
            raise BadFormat(f"{path}: node.id is no node's id")
        directory_id = str(found.directory_id) if found.directory_id is not None else None
        return DirectoryIdentity(found.cluster_id, found.node_id, directory_id)

    def _marker(self) -> Marker:
        return Marker.from_json(self._small(join(self.root, MARKER), MAX_JSON_SIZE_BYTES).decode())

    def _small(self, path: str, limit: int) -> bytes:
        data = read_whole(self.filesystem, path)
        if len(data) > limit:
            raise BadFormat(f"{path}: {len(data)} bytes are too many")
        return data

    def _log_end(self) -> LogEnd | None:
        """From the newest batch or snapshot itself: checkpoints and indexes may lie."""
        directory = join(self.log_directory, METADATA_LOG)
        names = self.filesystem.list_directory(directory)
        ends = [LogEnd(found.epoch, found.offset) for found in map(file_names.parse_snapshot_file, names) if found]
        # The snapshot of the formatting, (0, 0), is no record.
        ends = [end for end in ends if end.offset > 0]
        segments = sorted(
            offset for offset, suffix in filter(None, map(file_names.parse_segment_file, names)) if suffix == ".log"
        )
        if (newest := self._newest_batch(directory, reversed(segments))) is not None:
            ends.append(newest)
        return max(ends, key=lambda end: end.key, default=None)

    def _newest_batch(self, directory: str, bases: Iterable[int]) -> LogEnd | None:
        for base in bases:
            path = join(directory, file_names.segment_file(base, file_names.LOG))
            file = self.filesystem.open(path, write=False)
            try:
                last = None
                for place in scan(file):
                    if not isinstance(place, BatchHeader):
                        break
                    last = place
            finally:
                file.close()
            if last is not None:
                return LogEnd(last.partition_leader_epoch, last.last_offset + 1)
        return None


def _harmless(name: str) -> bool:
    return name in _HARMLESS or name.startswith((ASIDE, WORK))
