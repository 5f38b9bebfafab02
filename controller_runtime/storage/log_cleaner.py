"""Which log of a directory is cleaned next, how far each is clean, and which cannot be cleaned.

How far is Kafka's `cleaner-offset-checkpoint`: the log's end when it was cleaned last, so a start, ours or Java's, goes
on from there. A log in which something cannot be read is uncleanable until the next start; the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.identifiers import PartitionId
from controller_runtime.storage.compaction.cleanable import Dirt
from controller_runtime.storage.compaction.cleaning import CleanerSettings, LogCleaning
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class DirtyLog:
    key: PartitionId
    log: PartitionLog
    dirt: Dirt
    high_watermark: int


class LogCleaner:
    def __init__(self, directory: LogDirectory) -> None:
        self._directory = directory
        self.uncleanable: Final[dict[PartitionId, str]] = {}
        """And why."""

    def judge(self, key: PartitionId, high_watermark: int, now_ms: int) -> DirtyLog | None:
        """None: it is not compacted, need not be by now, cannot be, or was closed meanwhile."""
        directory = self._directory
        if key in self.uncleanable or not directory.has_open(key):
            return None
        log = directory.log(key)
        if not log.rules.compacts:
            return None
        dirt = log.dirt(directory.cleaned_to(key), high_watermark, now_ms)
        return DirtyLog(key, log, dirt, high_watermark) if dirt.is_due(log.rules) else None

    def clean(self, one: DirtyLog, now_ms: int, settings: CleanerSettings) -> Iterator[int]:
        """In pieces, as long as the log is open; then it is written down how far it is clean."""
        cleaning = LogCleaning(
            one.log,
            one.dirt.first_dirty,
            one.dirt.limit,
            high_watermark=one.high_watermark,
            now_ms=now_ms,
            settings=settings,
        )
        pieces = cleaning.pieces()
        try:
            while self._is_open(one) and (io_bytes := next(pieces, None)) is not None:
                yield io_bytes
        finally:
            pieces.close()
        if self._is_open(one) and cleaning.end_offset > one.dirt.first_dirty:
            self._directory.note_cleaned(one.key, cleaning.end_offset)

    def _is_open(self, one: DirtyLog) -> bool:
        return self._directory.has_open(one.key) and self._directory.log(one.key) is one.log
