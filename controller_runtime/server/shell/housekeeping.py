"""When the logs of a broker are looked after: rounds of retention and of compaction, and files whose time has come.

The loop's side: timers, and pieces handed to the thread of each directory one by one, so that what clients ask for
comes in between. Between two pieces a directory rests as long as the last one took.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from controller_runtime.broker.effects import BrokerEvent
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.server.shell.directory_upkeep import DirectoryUpkeep, Piece, Round
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.compaction.cleaning import CleanerSettings
from controller_runtime.storage.partition_log import Grave
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """Kafka's names; seconds."""

    initial_delay_s: float = 30.0
    """`log.initial.task.delay.ms`."""
    retention_interval_s: float = 300.0
    """`log.retention.check.interval.ms`."""
    cleans: bool = True
    """`log.cleaner.enable`."""
    backoff_s: float = 15.0
    """`log.cleaner.backoff.ms`."""
    bytes_per_second: float = math.inf
    """`log.cleaner.io.max.bytes.per.second`."""
    cleaner: CleanerSettings = CleanerSettings()
    producer_expiration_ms: int = 86_400_000
    """`producer.id.expiration.ms`."""


Submit = Callable[[DirectoryId, Callable[[PartitionWork], Any], Callable[[Any], None]], None]
"""Do it in the directory's thread; then something in the loop with what it gave, unless it failed."""
_LONGEST_REST_S: Final = 1.0


class Housekeeping:
    def __init__(
        self,
        directories: Iterable[DirectoryId],
        submit: Submit,
        settings: Callable[[], UpkeepSettings],
        *,
        feed: Callable[[BrokerEvent], None],
        high_watermarks: Callable[[], Mapping[PartitionId, int]],
        wall_ms: Callable[[], int],
    ) -> None:
        """Begins `initial_delay_s` after it is made. `settings` may change at any time: the next round has them."""
        self._loop = asyncio.get_running_loop()
        self._directories: Final = tuple(directories)
        self._submit = submit
        self._settings = settings
        self._feed = feed
        self._high_watermarks = high_watermarks
        self._wall_ms = wall_ms
        self._at_work: set[tuple[str, DirectoryId]] = set()
        """Rounds that are under way: what takes longer than the interval is not begun twice."""
        self._is_closed = False
        self._timers = {
            "retention": self._loop.call_later(settings().initial_delay_s, self._retain),
            "cleaning": self._loop.call_later(settings().initial_delay_s, self._clean),
        }

    def close(self) -> None:
        """Nothing more is begun."""
        self._is_closed = True
        for timer in self._timers.values():
            timer.cancel()

    def bury(self, directory: DirectoryId, grave: Grave) -> None:
        """Remove these files when their time has come. Those of a stop before are left to the next start."""

        def remove() -> None:
            if not self._is_closed:
                self._submit(directory, lambda work: work.remove_grave(grave), lambda _: None)

        self._loop.call_later(grave.delay_ms / 1000, remove)

    def _retain(self) -> None:
        self._timers["retention"] = self._loop.call_later(self._settings().retention_interval_s, self._retain)
        high_watermarks, now_ms = self._high_watermarks(), self._wall_ms()
        expiration_ms = self._settings().producer_expiration_ms
        self._begin("retention", lambda upkeep: upkeep.retention(high_watermarks, now_ms, expiration_ms))

    def _clean(self) -> None:
        settings = self._settings()
        self._timers["cleaning"] = self._loop.call_later(settings.backoff_s, self._clean)
        if settings.cleans:
            high_watermarks, now_ms = self._high_watermarks(), self._wall_ms()
            self._begin("cleaning", lambda upkeep: upkeep.cleaning(high_watermarks, now_ms, settings.cleaner))

    def _begin(self, kind: str, begin: Callable[[DirectoryUpkeep], Round]) -> None:
        for directory in self._directories:
            if (kind, directory) not in self._at_work:
                self._at_work.add((kind, directory))
                self._submit(directory, lambda work: begin(work.upkeep), partial(self._go_on, kind, directory))

    def _go_on(self, kind: str, directory: DirectoryId, found: Round) -> None:
        began = self._loop.time()

        def came(piece: Piece | None) -> None:
            if piece is None or self._is_closed:
                self._at_work.discard((kind, directory))
                return
            for event in piece.events:
                self._feed(event)
            rest = min(self._loop.time() - began, _LONGEST_REST_S)
            if kind == "cleaning":
                rest = max(rest, piece.io_bytes / self._settings().bytes_per_second)
            self._loop.call_later(rest, self._go_on, kind, directory, found)

        if not self._is_closed:
            self._submit(directory, lambda work: work.go_on(found), came)
