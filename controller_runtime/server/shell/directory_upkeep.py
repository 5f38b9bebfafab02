"""What the logs of one directory need now and then: old records are deleted, those that others replace are compacted.
Blocking; the directory's thread does it.

A round goes through all logs in small pieces, so that clients who wait for the same thread wait for one piece at most.
A log that cannot be looked after is told of and left as it is; a disk that refuses to write is the caller's business.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.broker.effects import BrokerEvent, LogBegins, ProducersExpired
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.storage.compaction.cleaning import CleanerSettings
from controller_runtime.storage.errors import CorruptFile, DiskFailed, StorageError
from controller_runtime.storage.log_cleaner import DirtyLog, LogCleaner
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

DISK_FAILURES: Final = (OSError, DiskFailed)
_NEVER_MS: Final = 1 << 62
_LOGS_AT_ONCE: Final = 200
"""That are looked at in one piece: a look costs some microseconds, or a read of an index."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a piece of a round has changed, and how many bytes it has read and written."""

    events: tuple[BrokerEvent, ...] = ()
    io_bytes: int = 0


Round = Iterator[Piece]


class DirectoryUpkeep:
    def __init__(self, directory: LogDirectory) -> None:
        self._directory = directory
        self.cleaner: Final = LogCleaner(directory)

    def retention(
        self, high_watermarks: Mapping[PartitionId, int], now_ms: int, producer_expiration_ms: int = _NEVER_MS
    ) -> Round:
        """Delete what the rules of each topic do not keep, and forget producers that have not written for so long. Logs
        whose high watermark is not known are left alone.
        """
        for looked_at, key in enumerate(self._directory.open_logs(), 1):
            begins = self._retain(key, high_watermarks.get(key), now_ms)
            expired = self._expire(key, now_ms - producer_expiration_ms)
            events = tuple(event for event in (begins, expired) if event is not None)
            if events or looked_at % _LOGS_AT_ONCE == 0:
                yield Piece(events)

    def _expire(self, key: PartitionId, before_ms: int) -> ProducersExpired | None:
        found = self._open(key)
        gone = () if found is None else found.expire_producers(before_ms)
        return ProducersExpired(key, gone, before_ms) if gone else None

    def _retain(self, key: PartitionId, high_watermark: int | None, now_ms: int) -> LogBegins | None:
        found = self._open(key)
        if found is None or high_watermark is None:
            return None
        try:
            gone = found.retain(high_watermark, now_ms)
        except CorruptFile as error:
            log.error("retention: %s", error)
            return None
        if not gone:
            return None
        log.info("retention: %d segments of %s deleted, it begins at %d", gone, found.directory, found.start_offset)
        return LogBegins(key, found.start_offset)

    def cleaning(self, high_watermarks: Mapping[PartitionId, int], now_ms: int, settings: CleanerSettings) -> Round:
        """Compact every log that is due, the dirtiest first."""
        due: list[DirtyLog] = []
        for looked_at, key in enumerate(self._directory.open_logs(), 1):
            found = self._dirty(key, high_watermarks.get(key), now_ms)
            if found is not None:
                due.append(found)
            if looked_at % _LOGS_AT_ONCE == 0:
                yield Piece()
        for one in sorted(due, key=lambda one: one.dirt.ratio, reverse=True):
            yield from self._clean(one, now_ms, settings)

    def _dirty(self, key: PartitionId, high_watermark: int | None, now_ms: int) -> DirtyLog | None:
        if high_watermark is None or key in self._directory.paused:
            return None
        try:
            return self.cleaner.judge(key, high_watermark, now_ms)
        except CorruptFile as error:
            self._give_up(key, error)
            return None

    def _clean(self, one: DirtyLog, now_ms: int, settings: CleanerSettings) -> Round:
        directory, before = one.log.directory, one.log.size_bytes
        try:
            for io_bytes in self.cleaner.clean(one, now_ms, settings):
                yield Piece(io_bytes=io_bytes)
        except DISK_FAILURES:
            raise
        except Exception as error:
            self._give_up(one.key, error)
        else:
            log.info("compaction: %s had %d bytes, now %d", directory, before, one.log.size_bytes)

    def _give_up(self, key: PartitionId, error: Exception) -> None:
        self.cleaner.uncleanable[key] = str(error)
        unknown = None if isinstance(error, StorageError | ProtocolError) else error
        log.error("compaction: restore the replica, it is not cleaned any more: %s", error, exc_info=unknown)

    def _open(self, key: PartitionId) -> PartitionLog | None:
        """None: it was closed meanwhile."""
        try:
            return self._directory.log(key)
        except StorageError:
            return None
