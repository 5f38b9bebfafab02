"""Parts of a quorum's log as files of Kafka's own form, byte for byte: a snapshot whole or not at all, and a segment
behind it that begins where this reading began. Readable by their owner alone: they hold what a log holds.
"""

from __future__ import annotations

import os
from pathlib import Path

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.storage.file_names import LOG, segment_file, snapshot_file
from metadata_pipeline.wire.leader import Leader, Mark, Part, SnapshotSlice

_BESIDE = "snapshot.part"


class LogFiles:
    """What was taken is up to `mark`; `leader` said so last. Raises OSError."""

    def __init__(self, home: Path, mark: Mark) -> None:
        self.home = home
        self.mark = mark
        self.leader: Leader | None = None
        self.is_written = False
        self._segment: int | None = None

    def take(self, part: Part) -> None:
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if isinstance(part, SnapshotSlice):
            beside = self.home / _BESIDE
            self._append(beside, part.data, new=part.position == 0)
            if not part.last:
                return
            beside.rename(self.home / snapshot_name(part.mark))
            self._segment = None
        else:
            if self._segment is None:
                self._segment = part.start
            self._append(self.home / log_name(self._segment), part.data, new=False)
        self.mark, self.leader, self.is_written = part.mark, part.leader, True

    def _append(self, path: Path, data: bytes, *, new: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if new else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
            file.write(data)

    def close(self) -> None:
        """A snapshot that is not whole goes."""
        (self.home / _BESIDE).unlink(missing_ok=True)


def log_name(base_offset: int) -> str:
    return segment_file(Offset(base_offset), LOG)


def snapshot_name(mark: Mark) -> str:
    return snapshot_file(OffsetAndEpoch(Offset(mark.end), Epoch(mark.epoch)))
