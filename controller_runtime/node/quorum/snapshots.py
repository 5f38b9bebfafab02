"""When a node writes a snapshot of its image, and when its log may forget what a snapshot holds (KIP-630).

Every node does both by itself, leader, standby and broker alike: a snapshot when enough was replayed since the last
one, or when the last one is old and something was replayed since; never inside a metadata transaction, never two at a
time. The log is shortened to a snapshot while it and its snapshots are too large, or the oldest is too old: then the
next one must cover what goes, so one always stays. Callers may not assume that a snapshot that was asked for will be: a
full disk gives it up, and the next one is tried when it is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from controller_runtime.identifiers import Instant, Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.quorum.effects import QuorumEffect, ShortenLog, TakeSnapshot
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.quorum.snapshot_content import snapshot_timestamp
from controller_runtime.parts.effects import Log
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.values import dataclass

TIDY_INTERVAL_S: Final = 60.0
_NEVER: Final = Instant(float("inf"))


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """Kafka's `metadata.log.max.record.bytes.between.snapshots`, `.max.snapshot.interval.ms` (0: never by age), and
    `metadata.max.retention.bytes` and `.ms` (negative: never)."""

    max_new_bytes: int = 20 << 20
    max_interval_ms: int = 3_600_000
    retention_bytes: int = 100 << 20
    retention_ms: int = 7 * 24 * 3_600_000
    scrub_interval_ms: int = 10_000
    """See `damage`; a name of ours, not Kafka's."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A snapshot on disk; `timestamp` is that of the last batch in it."""

    snapshot_id: OffsetAndEpoch
    size_bytes: int
    timestamp: int


def first_needed(
    kept: Sequence[Kept], log_bytes: int, config: SnapshotConfig, wall: WallClock
) -> OffsetAndEpoch | None:
    """The snapshot at which the log may begin now; None: nothing is too large or too old, or there is only one."""
    total = log_bytes + sum(one.size_bytes for one in kept)
    first: OffsetAndEpoch | None = None
    for old, following in pairwise(kept):
        too_large = 0 <= config.retention_bytes < total
        too_old = 0 <= config.retention_ms < wall - old.timestamp
        if not (too_large or too_old):
            break
        total -= old.size_bytes
        first = following.snapshot_id
    return first


class SnapshotKeeper:
    """One per metadata log."""

    def __init__(
        self,
        config: SnapshotConfig,
        meta: MetadataReplica,
        log: MetadataLogReader,
        snapshots: SnapshotReader,
        now: Instant,
    ) -> None:
        self.config = config
        self.latest_size_bytes = 0
        """Of the newest snapshot that this node wrote; Kafka's LatestSnapshotGeneratedBytes."""
        self.latest_at: Instant = now
        """When it was written, or this node started."""
        self.failures = 0
        """Snapshots that could not be written."""
        self.damages = 0
        """Places on the disk that gave back other bytes (see `damage`)."""
        self._meta = meta
        self._log = log
        self._snapshots = snapshots
        self._latest = meta.replica.log.latest_snapshot
        self._busy: OffsetAndEpoch | None = None
        self._renew_from: Offset | None = None
        self._bytes_before = 0
        self._due_by_age = self._age_limit(now)
        self._something_new = False
        self._tidy_at = Instant(now + TIDY_INTERVAL_S)
        self._timestamps: dict[OffsetAndEpoch, int] = {}

    def _age_limit(self, now: Instant) -> Instant:
        interval_ms = self.config.max_interval_ms
        return Instant(now + interval_ms / 1000) if interval_ms else _NEVER

    def next_deadline(self) -> Instant:
        return min(self._tidy_at, self._due_by_age) if self._something_new else self._tidy_at

    # Taking.

    def poll(
        self, image: MetadataImage, offset: Offset, timestamp: int, replayed_bytes: int, now: Instant, wall: WallClock
    ) -> list[QuorumEffect]:
        """After every step: `image` is what the log says below `offset`, all committed; `replayed_bytes` only grows."""
        out = self._tidy(now, wall) if now >= self._tidy_at else []
        latest = self._meta.replica.log.latest_snapshot
        if latest != self._latest:  # a fetched one stands for all that was replayed before it
            self._latest = latest
            self._start_anew(replayed_bytes, now)
        enough = replayed_bytes - self._bytes_before >= self.config.max_new_bytes
        self._something_new = self._busy is None and image.transaction is None and replayed_bytes > self._bytes_before
        if self._renew_from is not None:
            enough = enough or offset >= self._renew_from
        if self._something_new and (enough or now >= self._due_by_age):
            self._start_anew(replayed_bytes, now)
            out += self._take(image, offset, timestamp, wall)
        return out

    def renew(self, end_offset: Offset) -> None:
        """What lies on the disk below `end_offset` is to be replaced by a snapshot as soon as the image has come so
        far.
        """
        self._renew_from = end_offset

    def _start_anew(self, replayed_bytes: int, now: Instant) -> None:
        self._bytes_before = replayed_bytes
        self._due_by_age = self._age_limit(now)
        self._something_new = False

    def _take(self, image: MetadataImage, offset: Offset, timestamp: int, wall: WallClock) -> list[QuorumEffect]:
        log = self._meta.replica.log
        covered = log.latest_snapshot.offset if log.latest_snapshot else log.start_offset
        if offset <= covered:
            return []
        assert offset <= self._meta.high_watermark, f"a snapshot at {offset} above what is committed"
        snapshot_id = OffsetAndEpoch(offset, log.epoch_before(offset))
        kraft_version, voters = self._meta.replica.voter_history.at(offset)
        self._busy = snapshot_id
        self._timestamps[snapshot_id] = timestamp
        return [TakeSnapshot(snapshot_id, image, kraft_version, voters=voters, last_timestamp=timestamp, wall=wall)]

    def written(
        self, snapshot_id: OffsetAndEpoch, size_bytes: int, now: Instant, wall: WallClock
    ) -> list[QuorumEffect]:
        self._busy = None
        log = self._meta.replica.log
        if snapshot_id.offset < log.start_offset or snapshot_id in log.snapshots:
            return []  # a fetched one came meanwhile
        self.latest_size_bytes, self.latest_at = size_bytes, now
        self._latest = snapshot_id
        out = self._meta.snapshot_taken(snapshot_id, now, wall)
        if self._renew_from is not None and snapshot_id.offset >= self._renew_from:
            self._renew_from = None
            out += self._shorten(snapshot_id, now, wall)
        return [*out, Log("info", f"wrote snapshot {snapshot_id}, {size_bytes} bytes"), *self._tidy(now, wall)]

    def given_up(self, snapshot_id: OffsetAndEpoch, reason: str) -> list[QuorumEffect]:
        self._busy = None
        self.failures += 1
        return [Log("error", f"snapshot {snapshot_id} is given up, the next one is tried later: {reason}")]

    # Tidying.

    def _tidy(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        self._tidy_at = Instant(now + TIDY_INTERVAL_S)
        known = self._meta.replica.log.snapshots
        self._timestamps = {one: at for one, at in self._timestamps.items() if one in known or one == self._busy}
        if len(known) < 2:
            return []
        out: list[QuorumEffect] = []
        kept = [Kept(one, self._snapshots.snapshot_size(one) or 0, self._timestamp(one, out)) for one in known]
        first = first_needed(kept, self._log.size_bytes, self.config, wall)
        if first is None or first.offset <= self._meta.replica.log.start_offset:
            return out
        return [*out, *self._shorten(first, now, wall)]

    def _shorten(self, first: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        out = self._meta.log_shortened(first, now, wall)
        return [*out, ShortenLog(first), Log("info", f"the log begins at snapshot {first} from now on")]

    def _timestamp(self, snapshot_id: OffsetAndEpoch, out: list[QuorumEffect]) -> int:
        found = self._timestamps.get(snapshot_id)
        if found is None:
            try:
                found = snapshot_timestamp(self._snapshots, snapshot_id)
            except ProtocolError as error:
                out.append(
                    Log("error", f"a snapshot on this disk cannot be read, a newer one will replace it: {error}")
                )
                found = 0  # the sooner it is replaced the better
            self._timestamps[snapshot_id] = found
        return found
