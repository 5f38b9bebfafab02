"""What the logs of one directory need now and then: old records are deleted. Blocking; the directory's thread does it.

A round goes through all logs in small pieces, so that clients who wait for the same thread wait for one piece at most.
A log that cannot be looked after is told of and left as it is; a disk that refuses to write is the caller's business.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.broker.effects import BrokerEvent, LogBegins
from controller_runtime.identifiers import PartitionId
from controller_runtime.storage.errors import CorruptFile, StorageError
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

_LOGS_AT_ONCE: Final = 50
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

    def retention(self, high_watermarks: Mapping[PartitionId, int], now_ms: int) -> Round:
        """Delete what the rules of each topic do not keep. Logs whose high watermark is not known are left alone."""
        for looked_at, key in enumerate(self._directory.open_logs(), 1):
            begins = self._retain(key, high_watermarks.get(key), now_ms)
            if begins is not None or looked_at % _LOGS_AT_ONCE == 0:
                yield Piece(() if begins is None else (begins,))

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

    def _open(self, key: PartitionId) -> PartitionLog | None:
        """None: it was closed meanwhile."""
        try:
            return self._directory.log(key)
        except StorageError:
            return None
