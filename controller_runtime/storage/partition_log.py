"""The log of one topic partition on one disk: append, read, look up by time, recover.

Unlike the metadata log it promises no more than Kafka's topic logs: an append is in the page cache when it returns, and
durable when `flush` returned, `flush.messages` wanted it or the kernel thought so. So recovery trusts what lies below
the recovery point (a bad batch there is corruption, and refused) and cuts whatever is not whole above it; after `close`
it trusts everything. Offsets may have gaps (compacted logs of Java), but never go back. Not thread-safe: the owner
calls one method at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from controller_runtime.identifiers import Epoch, Offset, Uuid
from controller_runtime.protocol.producer_states import expired as expired_producers
from controller_runtime.protocol.producer_states import note_batch
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names, small_files
from controller_runtime.storage.compaction.cleanable import Dirt, dirt
from controller_runtime.storage.compaction.swaps import finish_swaps, swap
from controller_runtime.storage.errors import CorruptFile, InvalidOffset, StorageError
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.log import disk_work, producer_snapshots
from controller_runtime.storage.log.aborted import AbortedIndexes, AbortedTransaction
from controller_runtime.storage.log.batches import ScanEnd, scan
from controller_runtime.storage.log.config import CleanupRules, LogConfig
from controller_runtime.storage.log.indexes import NO_TIMESTAMP
from controller_runtime.storage.log.open_files import MANY, OpenFiles
from controller_runtime.storage.log.recovery import (
    EVERYTHING,
    Recovered,
    note_control,
    producers_at,
    recall,
    recover,
    remove_leftovers,
)
from controller_runtime.storage.log.retention import expired
from controller_runtime.storage.log.segment import Segment
from controller_runtime.storage.log.segmented_log import SegmentedLog
from controller_runtime.storage.remembered_logs import RememberedLog
from controller_runtime.values import dataclass


class WrongTopic(StorageError):
    """The directory belongs to another topic of the same name."""


@dataclass(frozen=True, slots=True)
class Grave:
    """Files that are set aside: to be removed when `delay_ms` have passed."""

    directory: str
    names: tuple[str, ...]
    delay_ms: int


class PartitionLog:
    """An open partition log."""

    def __init__(self, log: SegmentedLog, recovered: Recovered, recovery_point: int, graves: deque[Grave]) -> None:
        """Use `open`."""
        self._graves = graves
        self._log = log
        self.filesystem: Final = log.files.filesystem
        self._start = Offset(0)
        self._changed = bool(recovered.unsynced)
        self.recovery_point = Offset(recovery_point)
        self.producers = recovered.producers
        self._aborted: Final = AbortedIndexes(self.filesystem)
        self.cut_bytes: Final = recovered.cut_bytes

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        directory: str,
        topic_id: Uuid,
        config: LogConfig = LogConfig(),
        *,
        recovery_point: int = 0,
        log_start: int = 0,
        clean: bool = False,
        files: OpenFiles | None = None,
        graves: deque[Grave] | None = None,
        remembered: RememberedLog | None = None,
    ) -> PartitionLog:
        """Recover the log, making it if it is missing. `clean`: the last stop was, so every byte is trusted, and what
        it `remembered`, too. `graves` gets what is set aside.
        """
        files = OpenFiles(filesystem, MANY) if files is None else files
        recovered = None
        if clean and remembered is not None and remembered.topic_id == topic_id:
            recovered = recall(files, directory, config, remembered)
        if recovered is None:
            filesystem.make_directories(directory)
            _check_topic(filesystem, directory, topic_id)
            finish_swaps(filesystem, directory)
            remove_leftovers(filesystem, directory)
            trusted = EVERYTHING if clean else recovery_point
            recovered = recover(files, directory, config, ordered=False, recovery_point=trusted)
            producer_snapshots.remove_snapshots_beyond(filesystem, directory, recovered.end_offset)
        end = recovered.end_offset
        segments = SegmentedLog(files, directory, config, recovered, ordered=False)
        log = cls(segments, recovered, min(recovery_point, end), deque() if graves is None else graves)
        log._begin(log_start)
        return log

    def _begin(self, log_start: int) -> None:
        """As in Kafka, a log that ends below its start has lost what was kept of it, and goes on at its start."""
        log = self._log
        if not log.segments or log.end_offset < log_start:
            log.reset(Offset(log_start))
            self.recovery_point = Offset(log_start)
            self.producers.clear()
        self._start = Offset(max(log.segments[0].base_offset, log_start))
        if self._start > log.segments[0].base_offset:
            log.begin_at(self._start)  # removed segments may be back after a crash
        self._perform()

    @property
    def directory(self) -> str:
        return self._log.directory

    def configure(self, config: LogConfig) -> None:
        """A changed configuration of the topic holds from the next batch on."""
        self._log.configure(config)

    # Reading.

    @property
    def start_offset(self) -> Offset:
        return self._start

    @property
    def end_offset(self) -> Offset:
        return self._log.end_offset

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    def epoch_starts(self) -> tuple[tuple[Epoch, Offset], ...]:
        return self._log.epochs.entries()

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`: at least one, else no more than `max_bytes`; b""
        at the end.
        """
        if not self._start <= offset <= self.end_offset:
            raise InvalidOffset(f"offset {offset} is outside of {self.directory} ({self._start}..{self.end_offset})")
        for segment in self._log.segments[self._log.segment_index(offset) :]:
            if data := segment.read(offset, max_bytes, segment.size):
                return data
        return b""

    def aborted(self, offset: Offset, size: int) -> tuple[AbortedTransaction, ...]:
        """Those that concern who has read `size` bytes from `offset`, in the order of their markers; perhaps more."""
        return self._aborted.of_read(self._log.segments, self._log.segment_index(offset), offset, size)

    def expire_producers(self, before_ms: int) -> tuple[int, ...]:
        """Forget who has not written since then; who they were."""
        gone = tuple(expired_producers(self.producers, before_ms))
        for producer_id in gone:
            del self.producers[producer_id]
        return gone

    def batches_from(self, timestamp: int) -> Iterator[bytes]:
        """The batches whose largest timestamp is `timestamp` or later, each whole. The first one may reach below the
        start of the log.
        """
        for segment in self._log.segments:
            if segment.indexes.max_timestamp < timestamp:
                continue
            for batch in self._batches(segment, segment.indexes.time.lookup(timestamp)):
                if batch.max_timestamp >= timestamp and batch.last_offset >= self._start:
                    yield segment.file.read_at(batch.position, batch.size_in_bytes)

    def latest_batches(self) -> Iterator[bytes]:
        """Batches of which one holds the latest record. The first one may reach below the start of the log."""
        first, *others = self._log.segments
        found = [(each.indexes.max_timestamp, each.indexes.offset_of_max_timestamp) for each in others]
        if first.indexes.offset_of_max_timestamp >= self._start == first.base_offset:
            found.insert(0, (first.indexes.max_timestamp, first.indexes.offset_of_max_timestamp))
        else:
            rest = [one for one in self._batches(first, self._start) if one.last_offset >= self._start]
            if rest and rest[0].base_offset < self._start:
                yield self.read(self._start, 1)
            found[:0] = [(one.max_timestamp, one.last_offset) for one in rest if one.base_offset >= self._start]
        latest, offset = max(found, key=lambda one: one[0], default=(NO_TIMESTAMP, 0))
        if latest != NO_TIMESTAMP:
            yield self.read(Offset(offset), 1)

    def _batches(self, segment: Segment, offset: int) -> Iterator[BatchHeader]:
        for item in scan(segment.file, segment.indexes.offset.lookup(offset), verify=False, end=segment.size):
            if isinstance(item, ScanEnd):
                raise CorruptFile(segment.path, item.reason, item.position)
            yield item

    # Writing.

    def append(self, batches: bytes) -> Offset:
        """Write whole batches, offsets and epochs set, at the end; synced as `flush.messages` says. The new end."""
        for segment, batch, data in self._log.append(batches):
            if batch.position == 0 and segment.base_offset > 0:
                self._queue_snapshot(segment.base_offset)
            if not batch.is_control:
                note_batch(self.producers, batch)
            elif (aborted := note_control(self.producers, batch, data)) is not None:
                self._log.queue(self._aborted.add(segment, aborted))
        self._changed = True
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            return self.flush()
        self._perform()
        return self.end_offset

    def delete_before(self, offset: Offset) -> None:
        """Let the log begin at `offset`; whole segments below it are removed. The owner checkpoints the new start."""
        if not self._start <= offset <= self.end_offset:
            raise InvalidOffset(f"{self.directory} ({self._start}..{self.end_offset}) cannot begin at {offset}")
        self._start = offset
        self._log.begin_at(offset)
        self._perform()

    @property
    def first_base(self) -> int:
        """Where its first segment begins."""
        return self._log.segments[0].base_offset

    @property
    def rules(self) -> CleanupRules:
        return self._log.config.cleanup

    def retain(self, high_watermark: int, now_ms: int) -> int:
        """Delete what its rules do not keep, as far as `high_watermark` at most; how many segments went."""
        log = self._log
        bounds = {"start": self._start, "high_watermark": high_watermark, "now_ms": now_ms}
        gone = expired(log.segments, self.rules, **bounds, latest=self._latest)
        if not gone:
            return 0
        if gone == len(log.segments):
            log.roll()
            self._queue_snapshot(log.end_offset)
            self._changed = True
        self._start = Offset(max(self._start, log.segments[gone].base_offset))
        log.begin_at(self._start)
        self._perform()
        return gone

    def _latest(self, segment: Segment) -> int:
        """As in Kafka, when it was written stands in for records that have no time."""
        found = segment.indexes.max_timestamp
        return found if found >= 0 else self.filesystem.modified_ms(segment.path)

    # Compaction.

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._log.segments)

    @property
    def losses(self) -> int:
        """How often something was cut off, or deleted."""
        return self._log.losses

    @property
    def config(self) -> LogConfig:
        return self._log.config

    def dirt(self, cleaned_to: int | None, high_watermark: int, now_ms: int) -> Dirt:
        """What may be cleaned: no further than where the first open transaction begins."""
        begun = (entry.transaction_first_offset for entry in self.producers.values())
        return dirt(
            self._log.segments,
            self.rules,
            checkpoint=cleaned_to,
            start=self._start,
            stable=min([high_watermark, *(offset for offset in begun if offset >= 0)]),
            now_ms=now_ms,
            latest=self._latest,
        )

    def new_segment(self, base_offset: int) -> Segment:
        """One that is not of the log yet."""
        return Segment(self._log.files, self.directory, base_offset, self.config.index_interval_bytes)

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """`new`, whose `.cleaned` files are durable, takes the place of these neighbours."""
        swap(self.filesystem, new, old)
        self._log.replace(old, new)
        for segment in old:
            self._bury(segment)

    def truncate(self, end_offset: Offset) -> None:
        """Cut the log to end before `end_offset`, a batch boundary, as a follower does whose leader has less."""
        if not self._start <= end_offset <= self.end_offset:
            raise InvalidOffset(f"cannot truncate {self.directory} ({self._start}..{self.end_offset}) to {end_offset}")
        if end_offset < self.end_offset:
            self._cut(end_offset, self._log.boundary(end_offset))

    def _cut(self, end_offset: Offset, position: int) -> None:
        self._log.truncate(end_offset, position)
        self._aborted.forget()
        if (task := self._aborted.cut(self._log.segments[-1], end_offset)) is not None:
            self._log.queue(task)
        self.recovery_point = min(self.recovery_point, end_offset)
        self._changed = True
        self._perform()
        producer_snapshots.remove_snapshots_beyond(self.filesystem, self.directory, end_offset)
        log = self._log
        self.producers = producers_at(log.files, log.directory, log.segments, log.end_offset)

    def cut(self, end_offset: Offset) -> None:
        """Let the log end at `end_offset`, or before the batch that reaches over it; at its start nothing is left."""
        if end_offset <= self._start:
            self.restart(end_offset)
            return
        segment = self._log.segments[self._log.segment_index(end_offset)]
        found = segment.find(end_offset, segment.size)
        if found is not None:
            end_offset = Offset(min(end_offset, found.base_offset))
        if end_offset < self._start:
            self.restart(self._start)
        elif end_offset < self.end_offset:
            self._cut(end_offset, segment.size if found is None else found.position)

    def restart(self, start_offset: Offset) -> None:
        """Drop everything; the log goes on, empty, at `start_offset`."""
        self._log.reset(start_offset)
        self._aborted.forget()
        self._start = self.recovery_point = start_offset
        self.producers.clear()
        self._changed = True
        self._perform()
        for offset in producer_snapshots.snapshot_offsets(self.filesystem, self.directory):
            self.filesystem.remove(producer_snapshots.snapshot_path(self.directory, offset))

    def _queue_snapshot(self, offset: int) -> None:
        path = producer_snapshots.snapshot_path(self.directory, offset)
        self._log.queue(disk_work.WriteUnsynced(path, producer_snapshots.encode_producers(self.producers)))

    def _perform(self, *, sync: bool = False) -> None:
        tasks = self._log.take_tasks(sync=sync)
        disk_work.perform(self.filesystem, tasks)
        for task in tasks:
            if isinstance(task, disk_work.SetAsideSegment):
                self._bury(task.segment)

    def _bury(self, segment: Segment) -> None:
        self._aborted.forget([segment])
        names = (file_names.segment_file(segment.base_offset, suffix) for suffix in disk_work.SEGMENT_SUFFIXES)
        aside = tuple(name + file_names.DELETED for name in names)
        self._graves.append(Grave(self.directory, aside, self.rules.file_delete_delay_ms))

    def flush(self) -> Offset:
        """Make everything durable and return the new recovery point."""
        self._perform(sync=True)
        self.recovery_point = self.end_offset
        return self.recovery_point

    def abandon(self) -> None:
        """Let go of the files as they are, after a fault: what is in them is for the next recovery to judge."""
        self._log.let_go()

    def close(self) -> None:
        """Flush, finish the indexes, write down what is known of producers, and let go of the files."""
        self.flush()
        tasks = self._log.closing_tasks()
        if self._changed:
            tasks.extend(self._closing_snapshot())
            self._changed = False
        disk_work.perform(self.filesystem, tasks)
        self._log.let_go()

    def _closing_snapshot(self) -> Iterator[disk_work.DiskTask]:
        """At the log's end; those that lie at no segment's beginning are older ends."""
        path = producer_snapshots.snapshot_path(self.directory, self.end_offset)
        yield disk_work.WriteUnsynced(path, producer_snapshots.encode_producers(self.producers))
        kept = {segment.base_offset for segment in self._log.segments} | {self.end_offset}
        old = [one for one in producer_snapshots.snapshot_offsets(self.filesystem, self.directory) if one not in kept]
        if old:
            names = tuple(file_names.segment_file(offset, file_names.PRODUCER_SNAPSHOT) for offset in old)
            yield disk_work.RemoveFiles(self.directory, names)


def _check_topic(filesystem: FileSystem, directory: str, topic_id: Uuid) -> None:
    path = join(directory, small_files.PARTITION_METADATA)
    if not filesystem.exists(path):
        small_files.write_atomically(filesystem, path, small_files.encode_partition_metadata(topic_id))
        return
    found = small_files.decode_partition_metadata(read_whole(filesystem, path), path)
    if found != topic_id:
        raise WrongTopic(f"{directory} belongs to topic id {found}, not {topic_id}")
