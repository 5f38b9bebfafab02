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

from collections.abc import Sequence
from typing import Final

from controller_runtime.identifiers import METADATA_TOPIC_ID, Epoch, Offset, OffsetAndEpoch
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import DiskFailed, InvalidOffset
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.log import disk_work
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.disk_work import DiskTask
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.log.recovery import Recovered, recover, remove_leftovers
from controller_runtime.storage.log.segment import Segment
from controller_runtime.storage.log.segmented_log import SegmentedLog
from controller_runtime.storage.metadata_snapshots import FrozenSnapshots, check_covers, check_snapshot
from controller_runtime.storage.scrub import ScrubCursor, ScrubSlice
from controller_runtime.storage.small_files import PARTITION_METADATA, encode_partition_metadata, write_atomically
from controller_runtime.storage.snapshot_writer import SnapshotWrite
from controller_runtime.storage.tail import Tail
from controller_runtime.values import dataclass

METADATA_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """Work for the disk. `perform` runs anywhere, once; then the loop calls `MetadataLog.complete` with it."""

    filesystem: FileSystem
    tasks: Sequence[DiskTask]
    end_offset: Offset
    frozen: tuple[OffsetAndEpoch, ...] = ()

    def perform(self) -> None:
        """Write and sync. Raises `DiskFailed`; whatever it raises is fatal for the log."""
        try:
            disk_work.perform(self.filesystem, self.tasks)
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

    def __init__(self, log: SegmentedLog, recovered: Recovered, snapshots: FrozenSnapshots) -> None:
        """Use `open`."""
        self._log = log
        self._filesystem = log.files.filesystem
        self._snapshots = snapshots
        self._scrub = ScrubCursor()
        self._tail = Tail()
        self._start = Offset(0)
        self._flushed = Offset(0)
        self._frozen: list[OffsetAndEpoch] = []
        self._in_flight: PendingWrite | None = None
        self._cut_since_taken: int | None = None
        self.torn_bytes: Final = recovered.cut_bytes
        self.syncs = 0
        """Writes of this process that were made durable."""

    @classmethod
    def open(cls, filesystem: FileSystem, directory: str, config: LogConfig = LogConfig()) -> MetadataLog:
        """Recover the log of this directory, making it if it is missing. Raises `CorruptFile` rather than guess.

        As in Kafka every batch is read: whether the last stop was clean makes no difference.
        """
        filesystem.make_directories(directory)
        metadata = join(directory, PARTITION_METADATA)
        if not filesystem.exists(metadata):
            write_atomically(filesystem, metadata, encode_partition_metadata(METADATA_TOPIC_ID))
        remove_leftovers(filesystem, directory)
        files = OpenFiles(filesystem)
        recovered = recover(files, directory, config, ordered=True)
        segments = SegmentedLog(files, directory, config, recovered, ordered=True)
        log = cls(segments, recovered, FrozenSnapshots(filesystem, directory))
        log._begin()
        log._flushed = log.end_offset
        if log._log.has_work:
            log._perform_now()
        return log

    def _begin(self) -> None:
        """A log that ends before its latest snapshot was being reset when a crash came: it goes on at the snapshot."""
        segments, snapshots = self._log.segments, self._snapshots
        if segments:
            self._start = Offset(segments[0].base_offset)
            check_covers(self.directory, self._start, snapshots.ids)
        disk_work.remove_files(self._filesystem, self.directory, snapshots.drop_before(self._start))
        latest = snapshots.latest
        if latest is not None and (not segments or latest.offset > self.end_offset):
            check_snapshot(self._filesystem, snapshots.path(latest))
            self.reset(latest)
        elif not segments:
            self.reset(OffsetAndEpoch(Offset(0), Epoch(0)))
        elif self._start > 0 and snapshots.ids[0].offset > self._start:
            # The log's first segment began before its start: only whole segments are removed.
            self._start = snapshots.ids[0].offset
            self._log.begin_at(self._start)

    def _perform_now(self) -> None:
        pending = self.take_pending_write()
        assert pending is not None, "there was work"
        pending.perform()
        self.complete(pending)

    @property
    def directory(self) -> str:
        return self._log.directory

    # What readers see.

    @property
    def start_offset(self) -> Offset:
        return self._start

    @property
    def end_offset(self) -> Offset:
        """Of all that was appended, flushed or not."""
        return self._log.end_offset

    @property
    def flushed_offset(self) -> Offset:
        """Everything below is on disk."""
        return self._flushed

    @property
    def size_bytes(self) -> int:
        """Of the log segments."""
        return self._log.size_bytes

    def epoch_starts(self) -> tuple[tuple[Epoch, Offset], ...]:
        """(epoch, first offset) ascending, as in `leader-epoch-checkpoint`."""
        return self._log.epochs.entries()

    @property
    def segment_bytes(self) -> int:
        """How large a segment becomes; only a batch that is larger has a segment of its own."""
        return self._log.config.segment_bytes

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
        segment = self._log.segments[self._log.segment_index(offset)]
        return segment.read(offset, max_bytes, self._written(segment), checked=True)

    def _written(self, segment: Segment) -> int:
        """How many bytes of the segment may be read from its file: what is older than the tail."""
        if self._tail.places and self._tail.places[0][0] is segment:
            return self._tail.places[0][1].position
        return segment.size

    def snapshots(self) -> tuple[OffsetAndEpoch, ...]:
        """Ids of the frozen snapshots, ascending."""
        return self._snapshots.ids

    def snapshot_size(self, snapshot_id: OffsetAndEpoch) -> int | None:
        """In bytes; None if there is no such snapshot."""
        return self._snapshots.size(snapshot_id)

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """A slice of the file; it may cut a batch. Raises KeyError if there is no such snapshot."""
        return self._snapshots.read(snapshot_id, position, max_bytes)

    # What changes the log.

    def append(self, batches: bytes) -> Offset:
        """Add whole batches that continue the log, offsets and epochs set. Returns the new end offset; nothing is
        durable yet.
        """
        for segment, batch, data in self._log.append(batches):
            self._tail.add(segment, batch, data)
        return self.end_offset

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
        self._log.truncate(end_offset, position)
        self._note_cut(end_offset)

    def _boundary(self, offset: Offset) -> int:
        """The position at which the batch that begins at `offset` lies in its segment."""
        at = self._tail.index_of(offset)
        if at is None:
            return self._log.boundary(offset, self._written(self._log.segments[self._log.segment_index(offset)]))
        batch: BatchHeader = self._tail.places[at][1]
        if batch.base_offset != offset:
            raise self._log.no_boundary(offset)
        return batch.position

    def roll(self) -> None:
        """Close the active segment, so that all that is written until now can be removed once a snapshot holds it."""
        self._log.roll()

    def begin_scrub(self, max_bytes: int) -> ScrubSlice | None:
        """The next slice of what is flushed, for a thread to read again; None when there is nothing. Goes round and
        round.
        """
        slices = [(segment.path, segment.size) for segment in self._log.segments[:-1]]
        slices += self._snapshots.files()
        found = self._scrub.next_slice(slices, max_bytes)
        return None if found is None else ScrubSlice(self._filesystem, *found)

    def scrubbed(self, done: ScrubSlice, position: int) -> None:
        """The slice was read up to `position`, a batch boundary."""
        self._scrub.move(done.path, position)

    def reset(self, snapshot_id: OffsetAndEpoch) -> None:
        """Drop the whole log; it continues, empty, at the end of this snapshot. Older snapshots go too."""
        self._tail = Tail()
        self._start = snapshot_id.offset
        self._log.reset(snapshot_id.offset)
        self._drop_snapshots_before(snapshot_id.offset)
        self._note_cut(snapshot_id.offset, to=snapshot_id.offset)

    def delete_before(self, snapshot_id: OffsetAndEpoch) -> None:
        """Let the log begin at this frozen snapshot: whole segments below it and older snapshots are removed."""
        if self._snapshots.size(snapshot_id) is None or snapshot_id.offset > self.end_offset:
            raise InvalidOffset(f"{self.directory} has no snapshot {snapshot_id} within its log")
        if snapshot_id.offset <= self._start:
            return
        self._start = snapshot_id.offset
        self._log.begin_at(self._start)
        self._drop_snapshots_before(self._start)

    def _drop_snapshots_before(self, offset: Offset) -> None:
        if names := self._snapshots.drop_before(offset):
            self._log.queue(disk_work.RemoveFiles(self.directory, names))

    def _note_cut(self, end_offset: Offset, to: Offset | None = None) -> None:
        cut = self._cut_since_taken
        self._cut_since_taken = end_offset if cut is None else min(cut, end_offset)
        self._flushed = min(self._flushed, end_offset) if to is None else to

    def write_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes, *, last: bool) -> None:
        """Queue bytes of a snapshot's part file; position 0 begins it anew, `last` freezes it (see `Completed`)."""
        self._log.queue(disk_work.WriteSnapshotPart(self.directory, snapshot_id, position, data, last))
        if last:
            self._frozen.append(snapshot_id)

    def drop_snapshot_part(self, snapshot_id: OffsetAndEpoch) -> None:
        """Queue the removal of an unfinished snapshot."""
        self._log.queue(disk_work.RemoveFiles(self.directory, (file_names.snapshot_part_file(snapshot_id),)))

    def begin_snapshot(self, snapshot_id: OffsetAndEpoch) -> SnapshotWrite | None:
        """Work for a thread that writes a snapshot of what this log holds; None when there is one, or the log begins
        later.
        """
        if self._snapshots.size(snapshot_id) is not None or snapshot_id.offset < self._start:
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
            self._log.queue(disk_work.RemoveFiles(self.directory, (name,)))
            return False
        self._snapshots.add(written.snapshot_id, size)
        return True

    # The disk.

    def take_pending_write(self) -> PendingWrite | None:
        """All queued work, for one writer. None when there is none, or while the last one is not completed."""
        if self._in_flight is not None or not self._log.has_work:
            return None
        tasks = self._log.take_tasks(sync=True)
        frozen, self._frozen = tuple(self._frozen), []
        self._cut_since_taken = None
        self._in_flight = PendingWrite(self._filesystem, tasks, self.end_offset, frozen)
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
            self._snapshots.add(snapshot)
        self._tail.evict(self._flushed, self._log.config.tail_bytes)
        return Completed(self._flushed, tuple(alive))

    def close(self) -> None:
        """Perform what is queued, end the time index as a closed segment does, and let go of the files."""
        assert self._in_flight is None, "complete the pending write first"
        if self._log.has_work:
            self._perform_now()
        disk_work.perform(self._filesystem, self._log.closing_tasks())
        self._log.let_go()
