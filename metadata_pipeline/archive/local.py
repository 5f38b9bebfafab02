"""Bytes of the log as they lie in an archive's directory, by offset, while its one writer appends to it.

Only what is synced may be asked for. Files may go meanwhile (retention, or the log is set aside): then what was asked
for is not there, and nothing is given.
"""

from __future__ import annotations

from pathlib import Path

from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.batches import scan
from metadata_pipeline.archive.examining import listed
from metadata_pipeline.wire.files import log_name
from metadata_pipeline.wire.leader import Mark


class LocalLog:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: tuple[int, int, int] = (-1, -1, 0)
        """An offset, the segment in which its batch begins, and where."""

    def batches(self, start: int, end: int, limit: int) -> tuple[bytes, Mark] | None:
        """Whole batches from `start` on, as many as end by `end` and fit into `limit`, one at least. None: no batch
        begins at `start`, or there is a hole. Raises OSError.
        """
        found, size, mark = list[bytes](), 0, Mark(start)
        bases = listed(self._directory).segments
        first = max((each for each in bases if each <= start), default=None)
        if first is None:
            return None
        for base in (each for each in bases if each >= first):
            offset, segment, position = self._known
            begin = position if (offset, segment) == (start, base) else 0
            file = OsFileSystem().open(str(self._directory / log_name(base)), write=False)
            try:
                for place in scan(file, begin):
                    if not isinstance(place, BatchHeader):
                        break
                    following = place.base_offset + place.last_offset_delta + 1
                    if following <= mark.end:
                        continue
                    full = found and size + place.size_in_bytes > limit
                    if place.base_offset != mark.end or following > end or full:
                        self._known = (mark.end, base, place.position)
                        return (b"".join(found), mark) if found else None
                    found.append(file.read_at(place.position, place.size_in_bytes))
                    size += place.size_in_bytes
                    mark = Mark(following, place.partition_leader_epoch)
                    self._known = (mark.end, base, place.end_position)
            finally:
                file.close()
        return (b"".join(found), mark) if found else None

    def whole(self, start: int, end: int) -> bytes | None:
        """All of it, or nothing. Raises OSError."""
        found = self.batches(start, end, 1 << 62)
        return found[0] if found is not None and found[1].end == end else None

    def across(self, offset: int) -> tuple[int, int] | None:
        """The ends of the batch that has this offset and begins before it. Raises OSError."""
        base = max((each for each in listed(self._directory).segments if each < offset), default=None)
        if base is None:
            return None
        file = OsFileSystem().open(str(self._directory / log_name(base)), write=False)
        try:
            for place in scan(file):
                if not isinstance(place, BatchHeader) or place.base_offset >= offset:
                    return None
                following = place.base_offset + place.last_offset_delta + 1
                if following > offset:
                    return place.base_offset, following
        finally:
            file.close()
        return None
