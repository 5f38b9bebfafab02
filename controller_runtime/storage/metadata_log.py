"""The replicated metadata log on its disk: readable at once, durable later, in Apache Kafka's files.

`append`, `truncate`, `reset` and `write_snapshot` change what readers see immediately and queue what the disk must do.
A writer takes the queue (`take_pending_write`), performs it in a thread (`PendingWrite.perform`) while the loop goes
on, and hands it back (`complete`), which moves `flushed_offset`. One pending write at a time; everything queued
meanwhile shares the next sync. Bytes stay in memory until they are flushed, and some longer for followers that keep up;
only older ones are read from the file.

Callers may not assume that an append survives a crash before `flushed_offset` passed it, nor go on after `DiskFailed`:
a failed sync is final for this object, and only a new process with a new recovery may read that disk again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from controller_runtime.identifiers import METADATA_TOPIC_ID, Epoch, Offset, OffsetAndEpoch
from controller_runtime.storage import disk_work, file_names, recovery
from controller_runtime.storage.batch_scan import BatchPlace, split_batches
from controller_runtime.storage.disk_work import Step
from controller_runtime.storage.errors import DiskFailed, InvalidOffset
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.indexes import DEFAULT_INTERVAL_BYTES
from controller_runtime.storage.scrub import ScrubCursor, ScrubSlice
from controller_runtime.storage.segment import Segment
from controller_runtime.storage.small_files import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    encode_epoch_starts,
    encode_partition_metadata,
    write_atomically,
)
from controller_runtime.storage.snapshot_writer import SnapshotWrite
from controller_runtime.storage.tail import Tail
from controller_runtime.values import dataclass

METADATA_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Kafka's `metadata.log.segment.bytes` and `.ms`; and how much of the flushed tail stays in memory."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = DEFAULT_INTERVAL_BYTES
    tail_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """Work for the disk. `perform` runs anywhere, once; then the loop calls `MetadataLog.complete` with it."""

    filesystem: FileSystem
    steps: Sequence[Step]
    end_offset: Offset
    frozen: tuple[OffsetAndEpoch, ...] = ()

    def perform(self) -> None:
        """Write and sync. Raises `DiskFailed`; whatever it raises is fatal for the log."""
        try:
            disk_work.perform(self.filesystem, self.steps)
        except OSError as error:
            raise DiskFailed(f"{error.filename or 'the metadata log'}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Completed:
    """What `complete` reports: events for the node."""

    flushed_offset: Offset
    frozen_snapshots: tuple[OffsetAndEpoch, ...]


class MetadataLog:
    """The open log of `__cluster_metadata-0`, and its snapshots. One object per directory; not thread-safe but for
    `perform`.
    """

    def __init__(self, filesystem: FileSystem, directory: str, config: LogConfig) -> None:
        """Use `open`."""
        self._filesystem = filesystem
        self.directory: Final = directory
        self._config = config
        self._segments: list[Segment] = []
        self._epoch_starts: list[tuple[Epoch, Offset]] = []
        self._snapshots: list[OffsetAndEpoch] = []
        self._snapshot_sizes: dict[OffsetAndEpoch, int] = {}
        self._scrub = ScrubCursor()
        self._tail = Tail()
        self._steps: list[Step] = []
        self._start = Offset(0)
        self._flushed = Offset(0)
        self._frozen: list[OffsetAndEpoch] = []
        self._in_flight: PendingWrite | None = None
        self._cut_since_taken: int | None = None
        self._epochs_changed = False
        self.torn_bytes = 0
        self.syncs = 0
        """Writes of this process that were made durable."""

    @classmethod
    def open(cls, filesystem: FileSystem, directory: str, config: LogConfig = LogConfig()) -> MetadataLog:
        """Recover the log of this directory, making it if it is missing. Raises `CorruptFile` rather than guess."""
        log = cls(filesystem, directory, config)
        filesystem.make_directories(directory)
        if not filesystem.exists(join(directory, PARTITION_METADATA)):
            write_atomically(
                filesystem, join(directory, PARTITION_METADATA), encode_partition_metadata(METADATA_TOPIC_ID)
            )
        recovery.remove_leftovers(filesystem, directory)
        found = recovery.recover_segments(filesystem, directory, config.index_interval_bytes, contiguous=True)
        log._segments, log._epoch_starts, log.torn_bytes = found.segments, found.epoch_starts, found.torn_bytes
        log._recover_snapshots()
        log._flushed = log.end_offset
        log._write_epochs_if_changed()
        return log

    def _recover_snapshots(self) -> None:
        snapshots = recovery.frozen_snapshots(self._filesystem, self.directory)
        if self._segments:
            self._start = Offset(self._segments[0].base_offset)
            recovery.check_snapshot_covers(self.directory, self._start, snapshots)
        stale = [snapshot for snapshot in snapshots if snapshot.offset < self._start]
        disk_work.remove_files(self._filesystem, self.directory, [file_names.snapshot_file(s) for s in stale])
        self._snapshots = snapshots[len(stale) :]
        self._snapshot_sizes = {snapshot: self._file_size(snapshot) for snapshot in self._snapshots}
        latest = self._snapshots[-1] if self._snapshots else None
        if latest is not None and (not self._segments or latest.offset > self.end_offset):
            recovery.check_snapshot(self._filesystem, self._snapshot_path(latest))
            self.reset(latest)
            self._perform_now()
        elif not self._segments:
            self.reset(OffsetAndEpoch(Offset(0), Epoch(0)))
            self._perform_now()
        elif self._start > 0 and self._snapshots[0].offset > self._start:
            # The log's first segment began before its start: only whole segments are removed.
            self._begin_at(self._snapshots[0].offset)

    def _file_size(self, snapshot_id: OffsetAndEpoch) -> int:
        file = self._filesystem.open(self._snapshot_path(snapshot_id), write=False)
        try:
            return file.size()
        finally:
            file.close()

    def _perform_now(self) -> None:
        pending = self.take_pending_write()
        assert pending is not None, "there was work"
        pending.perform()
        self.complete(pending)

    def _write_epochs_if_changed(self) -> None:
        path = join(self.directory, LEADER_EPOCH_CHECKPOINT)
        data = encode_epoch_starts(self._epoch_starts)
        if not self._filesystem.exists(path) or read_whole(self._filesystem, path) != data:
            write_atomically(self._filesystem, path, data)

    # What readers see.

    @property
    def start_offset(self) -> Offset:
        return self._start

    @property
    def end_offset(self) -> Offset:
        """Of all that was appended, flushed or not."""
        return Offset(self._segments[-1].end_offset)

    @property
    def flushed_offset(self) -> Offset:
        """Everything below is on disk."""
        return self._flushed

    @property
    def size_bytes(self) -> int:
        """Of the log segments."""
        return sum(segment.size for segment in self._segments)

    def epoch_starts(self) -> tuple[tuple[Epoch, Offset], ...]:
        """(epoch, first offset) ascending, as in `leader-epoch-checkpoint`."""
        return tuple(self._epoch_starts)

    @property
    def segment_bytes(self) -> int:
        """How large a segment becomes; only a batch that is larger has a segment of its own."""
        return self._config.segment_bytes

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches of one segment from the one that contains `offset`, up to `max_bytes` in all but at least one;
        b"" at the log's end.

        Raises `CorruptFile` if the disk does not give back what was written (SNP-17).
        """
        if offset < self._start or offset > self.end_offset:
            raise InvalidOffset(f"offset {offset} is outside of the log {self._start}..{self.end_offset}")
        if offset == self.end_offset:
            return b""
        if (at := self._tail.index_of(offset)) is not None:
            return self._tail.read(at, max_bytes)
        segment = self._segments[self._segment_index(offset)]
        return segment.read(offset, max_bytes, self._written(segment), checked=True)

    def _segment_index(self, offset: Offset) -> int:
        return bisect_right(self._segments, int(offset), key=lambda segment: segment.base_offset) - 1

    def _written(self, segment: Segment) -> int:
        """How many bytes of the segment may be read from its file: what is older than the tail."""
        if self._tail.places and self._tail.places[0][0] is segment:
            return self._tail.places[0][1].position
        return segment.size

    def snapshots(self) -> tuple[OffsetAndEpoch, ...]:
        """Ids of the frozen snapshots, ascending."""
        return tuple(self._snapshots)

    def snapshot_size(self, snapshot_id: OffsetAndEpoch) -> int | None:
        """In bytes; None if there is no such snapshot."""
        return self._snapshot_sizes.get(snapshot_id)

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """A slice of the file; it may cut a batch. Raises KeyError if there is no such snapshot."""
        if snapshot_id not in self._snapshots:
            raise KeyError(str(snapshot_id))
        file = self._filesystem.open(self._snapshot_path(snapshot_id), write=False)
        try:
            return file.read_at(position, max_bytes)
        finally:
            file.close()

    def _snapshot_path(self, snapshot_id: OffsetAndEpoch) -> str:
        return join(self.directory, file_names.snapshot_file(snapshot_id))

    # What changes the log.

    def append(self, batches: bytes) -> Offset:
        """Add whole batches that continue the log, offsets and epochs set. Returns the new end offset; nothing is
        durable yet.
        """
        position = 0
        try:
            for batch in split_batches(batches):
                self._append_batch(batch, batches[position : batch.end])
                position = batch.end
        except ValueError as error:
            raise InvalidOffset(f"{self.directory}: {error}") from error
        return self.end_offset

    def _append_batch(self, batch: BatchPlace, data: bytes) -> None:
        if batch.base_offset != self.end_offset:
            raise InvalidOffset(
                f"{self.directory}: a batch at offset {batch.base_offset}, the log ends at {self.end_offset}"
            )
        last_epoch = self._epoch_starts[-1][0] if self._epoch_starts else -1
        if batch.epoch < last_epoch:
            raise InvalidOffset(f"{self.directory}: a batch of epoch {batch.epoch} after epoch {last_epoch}")
        segment = self._segments[-1]
        if segment.size and self._is_full(segment, batch):
            segment = self._roll(batch.base_offset)
        placed = BatchPlace(
            segment.size, batch.size, batch.base_offset, batch.last_offset, batch.epoch, batch.base_timestamp,
            batch.max_timestamp, batch.attributes, batch.producer_id, batch.producer_epoch, batch.base_sequence,
            batch.record_count,
        )  # fmt: skip
        self._queue_bytes(segment, placed.position, data)
        segment.add(placed)
        self._tail.add(segment, placed, data)
        if batch.epoch > last_epoch:
            self._epoch_starts.append((Epoch(batch.epoch), Offset(batch.base_offset)))
            self._epochs_changed = True

    def _is_full(self, segment: Segment, batch: BatchPlace) -> bool:
        first = segment.first_timestamp
        too_old = first is not None and batch.max_timestamp - first > self._config.segment_ms
        return segment.size + batch.size > self._config.segment_bytes or too_old

    def _queue_bytes(self, segment: Segment, position: int, data: bytes) -> None:
        match self._steps[-1] if self._steps else None:
            case disk_work.WriteBatches(same, start, chunks, size) as write if (
                same is segment and start + size == position
            ):
                chunks.append(data)
                write.size += len(data)
            case _:
                self._steps.append(disk_work.WriteBatches(segment, position, [data], len(data)))

    def _roll(self, base_offset: int) -> Segment:
        old = self._segments[-1]
        old.indexes.close()
        self._steps.append(disk_work.SyncSegment(old))
        self._steps.extend(disk_work.WriteIndexEntries(*write) for write in old.new_index_entries())
        return self._new_segment(base_offset)

    def _new_segment(self, base_offset: int) -> Segment:
        segment = Segment(self.directory, base_offset, interval_bytes=self._config.index_interval_bytes)
        self._segments.append(segment)
        self._steps.append(disk_work.CreateSegment(segment))
        self._steps.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries(anew=True))
        return segment

    def truncate(self, end_offset: Offset) -> None:
        """Cut the log to end before `end_offset`, a batch boundary. Unwritten bytes beyond it will never count as
        flushed.
        """
        if not self._start <= end_offset <= self.end_offset:
            raise InvalidOffset(f"cannot truncate {self.directory} ({self._start}..{self.end_offset}) to {end_offset}")
        if end_offset == self.end_offset:
            return
        position = self._boundary(end_offset)
        self._tail.cut(end_offset)
        while self._segments[-1].base_offset > end_offset:
            self._steps.append(disk_work.RemoveSegment(self._segments.pop()))
        segment = self._segments[-1]
        segment.truncate(position, end_offset)
        self._steps.append(disk_work.TruncateSegment(segment, position))
        self._steps.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries(anew=True))
        self._epoch_starts = [entry for entry in self._epoch_starts if entry[1] < end_offset]
        self._epochs_changed = True
        self._note_cut(end_offset)

    def _boundary(self, offset: Offset) -> int:
        """The position at which the batch that begins at `offset` lies in its segment."""
        at = self._tail.index_of(offset)
        if at is not None:
            place: BatchPlace | None = self._tail.places[at][1]
        else:
            segment = self._segments[self._segment_index(offset)]
            place = segment.find(offset, self._written(segment))
        if place is None or place.base_offset != offset:
            raise InvalidOffset(f"offset {offset} of {self.directory} is not the start of a batch")
        return place.position

    def roll(self) -> None:
        """Close the active segment, so that all that is written until now can be removed once a snapshot holds it."""
        if self._segments[-1].size:
            self._roll(self.end_offset)

    def begin_scrub(self, max_bytes: int) -> ScrubSlice | None:
        """The next slice of what is flushed, for a thread to read again; None when there is nothing. Goes round and
        round.
        """
        slices = [(segment.path, segment.size) for segment in self._segments[:-1]]
        slices += [(self._snapshot_path(one), self._snapshot_sizes[one]) for one in self._snapshots]
        found = self._scrub.next_slice(slices, max_bytes)
        return None if found is None else ScrubSlice(self._filesystem, *found)

    def scrubbed(self, done: ScrubSlice, position: int) -> None:
        """The slice was read up to `position`, a batch boundary."""
        self._scrub.move(done.path, position)

    def reset(self, snapshot_id: OffsetAndEpoch) -> None:
        """Drop the whole log; it continues, empty, at the end of this snapshot. Older snapshots go too."""
        while self._segments:
            self._steps.append(disk_work.RemoveSegment(self._segments.pop()))
        self._tail = Tail()
        self._start = snapshot_id.offset
        self._epoch_starts = []
        self._epochs_changed = True
        self._new_segment(snapshot_id.offset)
        self._drop_snapshots_before(snapshot_id.offset)
        self._note_cut(snapshot_id.offset, to=snapshot_id.offset)

    def delete_before(self, snapshot_id: OffsetAndEpoch) -> None:
        """Let the log begin at this frozen snapshot: whole segments below it and older snapshots are removed."""
        if snapshot_id not in self._snapshots or snapshot_id.offset > self.end_offset:
            raise InvalidOffset(f"{self.directory} has no snapshot {snapshot_id} within its log")
        if snapshot_id.offset <= self._start:
            return
        while len(self._segments) > 1 and self._segments[1].base_offset <= snapshot_id.offset:
            self._steps.append(disk_work.RemoveSegment(self._segments.pop(0)))
        self._begin_at(snapshot_id.offset)
        self._drop_snapshots_before(self._start)

    def _begin_at(self, start: Offset) -> None:
        self._start = start
        kept = [entry for entry in self._epoch_starts if entry[1] >= start]
        before = [entry for entry in self._epoch_starts if entry[1] < start]
        if before and (not kept or kept[0][1] > start) and self.end_offset > start:
            kept.insert(0, (before[-1][0], start))
        self._epoch_starts, self._epochs_changed = kept, True

    def _drop_snapshots_before(self, offset: Offset) -> None:
        dropped = [snapshot for snapshot in self._snapshots if snapshot.offset < offset]
        if dropped:
            self._snapshots = self._snapshots[len(dropped) :]
            for snapshot in dropped:
                del self._snapshot_sizes[snapshot]
            names = tuple(file_names.snapshot_file(snapshot) for snapshot in dropped)
            self._steps.append(disk_work.RemoveFiles(self.directory, names))

    def _note_cut(self, end_offset: Offset, to: Offset | None = None) -> None:
        cut = self._cut_since_taken
        self._cut_since_taken = end_offset if cut is None else min(cut, end_offset)
        self._flushed = min(self._flushed, end_offset) if to is None else to

    def write_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes, *, last: bool) -> None:
        """Queue bytes of a snapshot's part file; position 0 begins it anew, `last` freezes it (see `Completed`)."""
        self._steps.append(disk_work.WriteSnapshotPart(self.directory, snapshot_id, position, data, last))
        if last:
            self._frozen.append(snapshot_id)

    def drop_snapshot_part(self, snapshot_id: OffsetAndEpoch) -> None:
        """Queue the removal of an unfinished snapshot."""
        self._steps.append(disk_work.RemoveFiles(self.directory, (file_names.snapshot_part_file(snapshot_id),)))

    def begin_snapshot(self, snapshot_id: OffsetAndEpoch) -> SnapshotWrite | None:
        """Work for a thread that writes a snapshot of what this log holds; None when there is one, or the log begins
        later.
        """
        if snapshot_id in self._snapshots or snapshot_id.offset < self._start:
            return None
        if snapshot_id.offset > self.end_offset:
            raise InvalidOffset(f"{self.directory} ends at {self.end_offset}, before the snapshot {snapshot_id}")
        if snapshot_id.offset < self.end_offset:
            self._boundary(snapshot_id.offset)
        return SnapshotWrite(self._filesystem, self.directory, snapshot_id)

    def snapshot_written(self, written: SnapshotWrite, size: int) -> bool:
        """The snapshot is frozen on disk. False if the log has gone beyond it meanwhile: then it is removed again."""
        if written.snapshot_id.offset < self._start:
            name = file_names.snapshot_file(written.snapshot_id)
            self._steps.append(disk_work.RemoveFiles(self.directory, (name,)))
            return False
        self._add_snapshot(written.snapshot_id, size)
        return True

    def _add_snapshot(self, snapshot_id: OffsetAndEpoch, size: int) -> None:
        self._snapshots = sorted({*self._snapshots, snapshot_id})
        self._snapshot_sizes[snapshot_id] = size

    # The disk.

    def take_pending_write(self) -> PendingWrite | None:
        """All queued work, for one writer. None when there is none, or while the last one is not completed."""
        if self._in_flight is not None or not self._steps:
            return None
        steps, self._steps = self._steps, []
        written = {id(s.segment): s.segment for s in steps if isinstance(s, disk_work.WriteBatches)}
        live = [segment for segment in self._segments if id(segment) in written]
        steps.extend(disk_work.SyncSegment(segment) for segment in live)
        for segment in live:
            steps.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries())
        if self._epochs_changed:
            path = join(self.directory, LEADER_EPOCH_CHECKPOINT)
            steps.append(disk_work.ReplaceFile(path, encode_epoch_starts(self._epoch_starts)))
            self._epochs_changed = False
        frozen, self._frozen = tuple(self._frozen), []
        self._cut_since_taken = None
        self._in_flight = PendingWrite(self._filesystem, steps, self.end_offset, frozen)
        return self._in_flight

    def complete(self, pending: PendingWrite) -> Completed:
        """The write was performed: what it wrote and nobody cut since is durable."""
        assert pending is self._in_flight, "a pending write is completed once, in order"
        self._in_flight = None
        self.syncs += 1
        cut = self._cut_since_taken
        if cut is None:
            self._flushed = pending.end_offset
        elif cut >= self._start:
            self._flushed = Offset(max(self._flushed, min(pending.end_offset, cut)))
        alive = [snapshot for snapshot in pending.frozen if snapshot.offset >= self._start]
        for snapshot in alive:
            self._add_snapshot(snapshot, self._file_size(snapshot))
        self._tail.evict(self._flushed, self._config.tail_bytes)
        return Completed(self._flushed, tuple(alive))

    def close(self) -> None:
        """Perform what is queued, end the time index as a closed segment does, and let go of the files."""
        assert self._in_flight is None, "complete the pending write first"
        if self._steps:
            self._perform_now()
        last = self._segments[-1]
        last.indexes.close()
        disk_work.perform(self._filesystem, [disk_work.WriteIndexEntries(*write) for write in last.new_index_entries()])
        for segment in self._segments:
            if segment.file is not None:
                segment.file.close()
                segment.file = None
