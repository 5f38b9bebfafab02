"""A log as a run of segments: what the metadata log and the logs of topic partitions have in common.

Every change is planned: readers see it at once, and what the disk must do for it is queued as tasks (`disk_work`). The
owner takes the queue and performs it, the metadata log in a writer's thread and with a sync, a partition's log at once
and mostly without. `ordered` is the stronger promise, of the metadata log: offsets have no gaps, epochs never go back,
and a segment is durable before the next one exists, so that only the end of the last one can be torn.

Callers may not assume that anything is on the disk before its tasks were performed, nor go on after one has failed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from controller_runtime.identifiers import Offset
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage.errors import InvalidOffset
from controller_runtime.storage.filesystem import join
from controller_runtime.storage.log import disk_work
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.disk_work import DiskTask
from controller_runtime.storage.log.indexes import MAX_RELATIVE
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.log.recovery import Recovered
from controller_runtime.storage.log.segment import Segment
from controller_runtime.storage.small_files import LEADER_EPOCH_CHECKPOINT

Placed = tuple[Segment, BatchHeader, bytes]
"""A batch and where it goes."""


class SegmentedLog:
    """The segments, epochs and queued disk work of one directory."""

    def __init__(
        self, files: OpenFiles, directory: str, config: LogConfig, recovered: Recovered, *, ordered: bool
    ) -> None:
        """`recovered` may have no segment yet: then `reset` comes first."""
        self.files: Final = files
        self.directory: Final = directory
        self.config = config
        self.segments: Final = recovered.segments
        self.epochs: Final = recovered.epochs
        self._ordered: Final = ordered
        self.losses = 0
        """How often something was cut off, or a segment was removed."""
        self._tasks: list[DiskTask] = []
        self._unsynced: list[Segment] = list(recovered.unsynced)
        self._epochs_changed = recovered.epochs_changed
        self._epochs_missing = recovered.epochs_missing

    @property
    def end_offset(self) -> Offset:
        return Offset(self.segments[-1].end_offset)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def segment_index(self, offset: int) -> int:
        """Which segment holds `offset`, if any does."""
        return bisect_right(self.segments, int(offset), key=lambda segment: segment.base_offset) - 1

    def configure(self, config: LogConfig) -> None:
        """A changed configuration holds from the next batch on."""
        self.config = config
        self.segments[-1].configure(config.index_interval_bytes)

    # Growing.

    def append(self, batches: bytes) -> list[Placed]:
        """Add whole batches that continue the log, offsets and epochs set: all of them, or none and InvalidOffset."""
        try:
            headers = list(split_batches(batches))
        except ValueError as error:
            raise InvalidOffset(f"{self.directory}: {error}") from error
        self._check(headers)
        if len(headers) == 1:
            return [self._append(headers[0], batches)]
        return [self._append(header, batches[header.position : header.end_position]) for header in headers]

    def _check(self, headers: list[BatchHeader]) -> None:
        end, epoch = self.segments[-1].end_offset, self.epochs.latest
        for header in headers:
            base, _, later, *_ = header
            if base < end or (self._ordered and base != end):
                raise InvalidOffset(f"{self.directory}: a batch at offset {base}, the log ends at {end}")
            if self._ordered and later < epoch:
                raise InvalidOffset(f"{self.directory}: a batch of epoch {later} after epoch {epoch}")
            end, epoch = header.next_offset, later

    def _append(self, header: BatchHeader, data: bytes) -> Placed:
        segment = self.segments[-1]
        if self._is_full(segment, header):
            segment = self._roll(header.base_offset)
        if header.position != segment.size:
            header = header.at(segment.size)
        segment.add(header)
        self._queue_bytes(segment, header.position, data)
        if header.partition_leader_epoch > self.epochs.latest:
            self.epochs.note(header.partition_leader_epoch, header.base_offset)
            self._epochs_changed = True
        return segment, header, data

    def _is_full(self, segment: Segment, header: BatchHeader) -> bool:
        if header.last_offset - segment.base_offset > MAX_RELATIVE:
            return True  # as in Kafka, another segment has room for it
        if not segment.size:
            return False
        first = segment.first_timestamp
        config, indexes = self.config, segment.indexes
        if first is not None and header.max_timestamp - first > config.segment_ms:
            return True
        if segment.size + header.size_in_bytes > config.segment_bytes:
            return True
        room = config.max_index_bytes
        return len(indexes.offset.offsets) >= room // 8 or len(indexes.time.offsets) >= room // 12 - 1

    def _queue_bytes(self, segment: Segment, position: int, data: bytes) -> None:
        last = self._tasks[-1] if self._tasks else None
        if (
            isinstance(last, disk_work.WriteBatches)
            and last.segment is segment
            and last.position + last.size == position
        ):
            last.chunks.append(data)
            last.size += len(data)
        else:
            self._tasks.append(disk_work.WriteBatches(segment, position, [data], len(data)))
        if not self._unsynced or self._unsynced[-1] is not segment:
            self._unsynced.append(segment)

    def roll(self) -> None:
        """Close the active segment, unless it is empty."""
        if self.segments[-1].size:
            self._roll(self.end_offset)

    def _roll(self, base_offset: int) -> Segment:
        old = self.segments[-1]
        old.indexes.close()
        if self._ordered:
            self._tasks.append(disk_work.SyncSegment(old))
            self._unsynced = [segment for segment in self._unsynced if segment is not old]
        self._tasks.extend(disk_work.WriteIndexEntries(*write) for write in old.new_index_entries())
        return self.begin_segment(base_offset)

    def begin_segment(self, base_offset: int) -> Segment:
        """The next batch goes into a new segment. Its index files come first: the log file's name is synced with
        theirs.
        """
        segment = Segment(self.files, self.directory, base_offset, self.config.index_interval_bytes)
        self.segments.append(segment)
        self._tasks.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries(anew=True))
        self._tasks.append(disk_work.CreateSegment(segment))
        return segment

    # Shrinking.

    def boundary(self, offset: Offset, written: int | None = None) -> int:
        """The position at which the batch that begins at `offset` lies in its segment, of which the first `written`
        bytes are in the file.
        """
        segment = self.segments[self.segment_index(offset)]
        found = segment.find(offset, segment.size if written is None else written)
        if found is None or found.base_offset != offset:
            raise self.no_boundary(offset)
        return found.position

    def no_boundary(self, offset: Offset) -> InvalidOffset:
        return InvalidOffset(f"offset {offset} of {self.directory} is not the start of a batch")

    def truncate(self, end_offset: Offset, position: int) -> None:
        """Cut the log to end before `end_offset`, where a batch begins at `position` of its segment."""
        while self.segments[-1].base_offset > end_offset:
            self._remove(-1)
        self.losses += 1
        segment = self.segments[-1]
        segment.truncate(position, end_offset)
        self._tasks.append(disk_work.TruncateSegment(segment, position))
        self._tasks.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries(anew=True))
        self.epochs.cut(end_offset)
        self._epochs_changed = True

    def reset(self, offset: Offset) -> None:
        """Drop everything; the log goes on, empty, at `offset`."""
        while self.segments:
            self._remove(-1)
        self.epochs.cut(0)
        self._epochs_changed = True
        self.begin_segment(offset)

    def begin_at(self, start: Offset) -> None:
        """Nothing below `start` is read any more: whole segments below it are removed."""
        while len(self.segments) > 1 and self.segments[1].base_offset <= start:
            self._remove(0, later=not self._ordered)
        before = self.epochs.entries()
        # In an ordered log that is empty now, the snapshot at its start says which epoch wrote up to there.
        self.epochs.begin_at(start, keep=not self._ordered or self.end_offset > start)
        self._epochs_changed |= before != self.epochs.entries()

    def _remove(self, at: int, *, later: bool = False) -> None:
        """`later`: its files are only set aside, as Kafka does what is deleted by a rule or on request."""
        self.losses += 1
        gone = self.segments.pop(at)
        self._unsynced = [segment for segment in self._unsynced if segment is not gone]
        self._tasks.append(disk_work.SetAsideSegment(gone) if later else disk_work.RemoveSegment(gone))

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """What the disk has done already: `new` lies in the place of these neighbours, and is durable."""
        first = self.segments.index(old[0])
        assert self.segments[first : first + len(old)] == list(old), f"{self.directory}: not neighbours"
        self.segments[first : first + len(old)] = [new]
        gone = set(map(id, old))
        self._unsynced = [segment for segment in self._unsynced if id(segment) not in gone]

    # The disk.

    def queue(self, task: DiskTask) -> None:
        """More work for the disk, after what is queued."""
        self._tasks.append(task)

    @property
    def has_work(self) -> bool:
        """Whether the disk has anything to do."""
        return bool(self._tasks) or self._epochs_changed

    def take_tasks(self, *, sync: bool) -> list[DiskTask]:
        """What is queued, in its one right order; with `sync`, also what makes all that was appended durable."""
        tasks, self._tasks = self._tasks, []
        if sync:
            tasks.extend(self._syncs())
            self._unsynced = []
        if self._epochs_changed:
            tasks.append(self._epoch_task())
            self._epochs_changed = self._epochs_missing = False
        return tasks

    def _epoch_task(self) -> DiskTask:
        """The first checkpoint of a log without an epoch says no more than a missing one."""
        path, data = join(self.directory, LEADER_EPOCH_CHECKPOINT), self.epochs.encode()
        if self._epochs_missing and not self.epochs.entries():
            return disk_work.WriteUnsynced(path, data)
        return disk_work.ReplaceFile(path, data)

    def _syncs(self) -> Iterator[DiskTask]:
        yield from (disk_work.SyncSegment(segment) for segment in self._unsynced)
        if self._ordered:
            for segment in self._unsynced:
                yield from (disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries())
        else:
            yield from _index_syncs(self.segments[:-1])

    def closing_tasks(self) -> list[DiskTask]:
        """End the indexes as those of closed segments do. The next start of a partition's log believes them."""
        self.segments[-1].close_indexes()
        tasks: list[DiskTask] = []
        for segment in self.segments:
            if segment.has_unwritten_entries:
                tasks.extend(disk_work.WriteIndexEntries(*write) for write in segment.new_index_entries())
        return tasks if self._ordered else [*tasks, *_index_syncs(self.segments)]

    def let_go(self) -> None:
        """Close the files as they are."""
        for segment in self.segments:
            self.files.close(segment.path)


def _index_syncs(segments: Sequence[Segment]) -> Iterator[DiskTask]:
    for segment in segments:
        if segment.indexes_unsynced:
            segment.indexes_unsynced = False
            if segment.had_entries:
                yield disk_work.SyncIndexes(segment)
