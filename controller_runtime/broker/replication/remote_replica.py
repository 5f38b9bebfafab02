"""One follower of a partition, as its leader sees it: by its fetches, and by nothing else.

A follower that asks for what lies at an offset has everything below it. It is caught up at the time of a fetch that
asks for the leader's end, or for what was the leader's end when it fetched before: so a follower that always has what
the leader had a moment ago stays in sync under any load (KIP-16).
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Instant
from controller_runtime.protocol.messages.fetch_request import FetchPartition
from controller_runtime.values import dataclass

UNKNOWN: Final = -1
"""An offset that no fetch has told, or a broker epoch that it left out."""


@dataclass(slots=True, eq=False)
class Judged:
    """What a fetch wanted that was served, and by which image (`quiet_partitions`); of this leader epoch."""

    wanted: FetchPartition
    image: int
    """The number of the image."""
    told: tuple[int, int] | None = None
    """The high watermark and the beginning of the log, as an answer said them."""


@dataclass(slots=True)
class RemoteReplica:
    end_offset: int = UNKNOWN
    start_offset: int = UNKNOWN
    broker_epoch: int | None = None
    """Of the incarnation that fetched last; None: none has fetched since this broker leads."""
    caught_up_at: Instant | None = None
    """None: never, or not yet."""
    _fetched_at: Instant | None = None
    _leader_end: int = 0
    """When it fetched last."""
    judged: Judged | None = None

    def begin(self, now: Instant, *, in_sync: bool, forget: bool) -> None:
        """A leader epoch begins. `forget`: another broker led before, so what is known of it is old."""
        self.caught_up_at, self._fetched_at = now if in_sync else None, None
        self.judged = None
        if forget:
            self.end_offset = self.start_offset = UNKNOWN
            self.broker_epoch = None

    def fetched(self, offset: int, start: int, broker_epoch: int, leader_end: int, now: Instant) -> None:
        if offset >= leader_end:
            self.caught_up_at = now
        elif self._fetched_at is not None and offset >= self._leader_end:
            self.caught_up_at = max(self._fetched_at, self.caught_up_at or self._fetched_at)
        self.end_offset, self.start_offset, self.broker_epoch = offset, start, broker_epoch
        self._fetched_at, self._leader_end = now, leader_end

    def has_everything(self, leader_end: int, now: Instant) -> None:
        """It fetched as it did before, at the leader's end."""
        self.caught_up_at = self._fetched_at = now
        self._leader_end = leader_end

    def is_caught_up(self, leader_end: int, now: Instant, max_lag_s: float) -> bool:
        """Nothing is missing, or was at most so long ago."""
        if self.end_offset == leader_end:
            return True
        return self.caught_up_at is not None and now - self.caught_up_at <= max_lag_s
