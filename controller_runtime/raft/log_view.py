"""Where the log begins, ends and is durable, and which epoch wrote which part of it.

Enough of the log to vote, to find where two logs part, and to count replicas; never its content. The rules are those of
Kafka's leader epoch cache and `validateOffsetAndEpoch`; they hold because within one epoch there is one leader, so two
logs that agree on (epoch, offset) agree on all before it.
"""

from __future__ import annotations

from bisect import bisect_right

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Valid:
    """The follower's log is a prefix of ours up to its fetch offset."""


@dataclass(frozen=True, slots=True)
class Diverging:
    """The logs part at or before this point, which is the end of the largest epoch of ours that is not above the
    follower's.
    """

    end: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class NeedsSnapshot:
    """What the follower asks for is not in the log any more."""

    snapshot_id: OffsetAndEpoch


@dataclass(slots=True)
class LogView:
    start_offset: Offset = Offset(0)
    end_offset: Offset = Offset(0)
    flushed_offset: Offset = Offset(0)
    epoch_starts: list[tuple[Epoch, Offset]] = field(default_factory=list)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    """Frozen snapshots without the bootstrap snapshot, ascending."""

    @property
    def last_epoch(self) -> Epoch:
        """The epoch of the last record, or of the snapshot that stands for all records."""
        if self.epoch_starts:
            return self.epoch_starts[-1][0]
        return self.snapshots[-1].epoch if self.snapshots else Epoch(0)

    @property
    def last(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(self.end_offset, self.last_epoch)

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return self.snapshots[-1] if self.snapshots else None

    def append(self, base_offset: Offset, end_offset: Offset, epoch: Epoch) -> None:
        assert base_offset == self.end_offset, f"append at {base_offset}, the log ends at {self.end_offset}"
        assert end_offset > base_offset, f"empty batch at {base_offset}"
        assert epoch >= self.last_epoch, f"epochs must not fall: {self.last_epoch} -> {epoch}"
        if not self.epoch_starts or epoch > self.epoch_starts[-1][0]:
            self.epoch_starts.append((epoch, base_offset))
        self.end_offset = end_offset

    def truncate(self, end_offset: Offset) -> None:
        assert self.start_offset <= end_offset <= self.end_offset, f"truncate {self.end_offset} to {end_offset}"
        while self.epoch_starts and self.epoch_starts[-1][1] >= end_offset:
            self.epoch_starts.pop()
        self.end_offset = end_offset
        self.flushed_offset = min(self.flushed_offset, end_offset)

    def reset(self, snapshot_id: OffsetAndEpoch) -> None:
        """The log is empty and continues at the end of this snapshot, which is on disk."""
        self.start_offset = self.end_offset = self.flushed_offset = snapshot_id.offset
        self.epoch_starts = []
        self.snapshots = [snapshot_id]

    def taken(self, snapshot_id: OffsetAndEpoch) -> None:
        """This node froze a snapshot of its own log."""
        assert snapshot_id not in self.snapshots, f"snapshot {snapshot_id} exists"
        assert self.start_offset <= snapshot_id.offset <= self.end_offset, f"snapshot {snapshot_id} outside of the log"
        self.snapshots = sorted([*self.snapshots, snapshot_id])

    def delete_before(self, snapshot_id: OffsetAndEpoch) -> None:
        """The log begins at this snapshot of ours: what lies below, and older snapshots, are gone."""
        assert snapshot_id in self.snapshots, f"no snapshot {snapshot_id}"
        start = snapshot_id.offset
        assert self.start_offset < start <= self.end_offset, f"the log {self.start_offset}.. cannot begin at {start}"
        before = [epoch for epoch, first in self.epoch_starts if first < start]
        kept = [entry for entry in self.epoch_starts if entry[1] >= start]
        if before and (not kept or kept[0][1] > start) and self.end_offset > start:
            kept.insert(0, (before[-1], start))
        self.epoch_starts, self.start_offset = kept, start
        self.snapshots = [known for known in self.snapshots if known.offset >= start]

    def epoch_before(self, offset: Offset) -> Epoch:
        """The epoch of the record below `offset`: what a snapshot that ends there is named after."""
        assert self.start_offset < offset <= self.end_offset, f"no record below {offset} in {self.start_offset}.."
        below = bisect_right(self.epoch_starts, offset - 1, key=lambda entry: entry[1])
        return self.epoch_starts[below - 1][0]

    def end_of(self, epoch: Epoch) -> OffsetAndEpoch:
        """The end of the largest epoch not above `epoch`; the log's end if `epoch` is above all."""
        starts = self.epoch_starts
        if not starts or epoch >= starts[-1][0]:
            return self.last
        above = bisect_right(starts, epoch, key=lambda entry: entry[0])
        if above == 0:
            first = starts[0][1]
            earliest = next((known for known in self.snapshots if known.offset == first and known.epoch <= epoch), None)
            return earliest or OffsetAndEpoch(first, epoch)
        return OffsetAndEpoch(starts[above][1], starts[above - 1][0])

    def validate(self, offset: Offset, epoch: Epoch) -> Valid | Diverging | NeedsSnapshot:
        """Whether a log that ends at `offset` with a record of `epoch` is a prefix of ours (kraft-facts 3.4)."""
        latest = self.latest_snapshot
        if offset == 0 and latest is not None:
            return NeedsSnapshot(latest)
        if offset == 0 and self.start_offset == 0:
            return Valid()
        if latest is not None and self._is_before_log(offset, epoch):
            return NeedsSnapshot(latest)
        end = self.end_of(epoch)
        return Diverging(end) if end.epoch != epoch or end.offset < offset else Valid()

    def _is_before_log(self, offset: Offset, epoch: Epoch) -> bool:
        earliest = self.snapshots[0]
        at_start_but_other = offset == self.start_offset == earliest.offset and epoch != earliest.epoch
        older_than_log = self.start_offset > 0 and epoch < earliest.epoch  # a log from 0 on knows every epoch itself
        return offset < self.start_offset or at_start_but_other or older_than_log

    def truncation_point(self, leader_end: OffsetAndEpoch) -> Offset:
        """Where to cut our log, given the end that the leader has for the largest epoch not above our last."""
        if leader_end.epoch == 0:
            return min(leader_end.offset, self.end_offset)
        mine = self.end_of(leader_end.epoch)
        return min(mine.offset, leader_end.offset) if mine.epoch == leader_end.epoch else mine.offset
