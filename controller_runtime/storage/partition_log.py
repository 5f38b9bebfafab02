"""The log of one topic partition on one disk: append, read, look up by time, recover.

Unlike the metadata log it promises no more than Kafka's topic logs: an append is in the page cache when it returns, and
durable when `flush` returned or the kernel thought so. So recovery trusts what lies below the recovery point (a bad
batch there is corruption, and refused) and cuts whatever is not whole above it. Offsets may have gaps (compacted logs
of Java), but never go back. Not thread-safe; the owner calls one method at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from controller_runtime.identifiers import Epoch, Offset, Uuid
from controller_runtime.protocol.producer_states import ProducerEntry, note_batch
from controller_runtime.storage import disk_work, file_names, recovery, small_files
from controller_runtime.storage.batch_scan import BatchPlace, ScanEnd, scan, split_batches
from controller_runtime.storage.errors import CorruptFile, IndexOverflow, InvalidOffset, StorageError
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.indexes import DEFAULT_INTERVAL_BYTES, MAX_RELATIVE, NO_TIMESTAMP
from controller_runtime.storage.segment import Segment, write_index_entries
from controller_runtime.values import dataclass, replace

_FOREVER: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class PartitionLogConfig:
    """`segment.bytes`, `segment.ms`, `index.interval.bytes` of the topic."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = DEFAULT_INTERVAL_BYTES


class WrongTopic(StorageError):
    """The directory belongs to another topic of the same name."""


class PartitionLog:
    """An open partition log."""

    def __init__(self, filesystem: FileSystem, directory: str, config: PartitionLogConfig) -> None:
        """Use `open`."""
        self._filesystem = filesystem
        self.directory: Final = directory
        self._config = config
        self._segments: list[Segment] = []
        self._epoch_starts: list[tuple[Epoch, Offset]] = []
        self._start = Offset(0)
        self._dirty: list[Segment] = []
        self.recovery_point = Offset(0)
        self.producers: dict[int, ProducerEntry] = {}
        self.cut_bytes = 0

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        directory: str,
        topic_id: Uuid,
        config: PartitionLogConfig = PartitionLogConfig(),
        *,
        recovery_point: int = 0,
        log_start: int = 0,
        clean: bool = False,
    ) -> PartitionLog:
        """Recover the log, making it if it is missing. `clean`: the last stop was, so every byte is trusted."""
        log = cls(filesystem, directory, config)
        filesystem.make_directories(directory)
        log._check_topic(topic_id)
        recovery.remove_leftovers(filesystem, directory)
        log._recover(_FOREVER if clean else recovery_point)
        log._start = Offset(max(log._segments[0].base_offset, min(log_start, log.end_offset)))
        log.recovery_point = Offset(min(recovery_point, log.end_offset))
        return log

    def _check_topic(self, topic_id: Uuid) -> None:
        path = join(self.directory, small_files.PARTITION_METADATA)
        if not self._filesystem.exists(path):
            small_files.write_atomically(self._filesystem, path, small_files.encode_partition_metadata(topic_id))
            return
        found = small_files.decode_partition_metadata(read_whole(self._filesystem, path), path)
        if found != topic_id:
            raise WrongTopic(f"{self.directory} belongs to topic id {found}, not {topic_id}")

    # Recovery.

    def _recover(self, trusted_below: int) -> None:
        bases = recovery.segment_offsets(self._filesystem, self.directory)
        for number, base in enumerate(bases):
            segment = Segment(self.directory, base, interval_bytes=self._config.index_interval_bytes)
            segment.file = self._filesystem.open(segment.path)
            ends_by = bases[number + 1] if number + 1 < len(bases) else _FOREVER
            whole = self._scan(segment, trusted_below, verify=ends_by > trusted_below)
            self._segments.append(segment)
            recovery.write_indexes_anew(self._filesystem, segment, closed=number < len(bases) - 1 and whole)
            if not whole:
                self._remove_from(bases[number + 1 :])
                break
        if not self._segments:
            self._new_segment(0)
        self._write_epochs()

    def _scan(self, segment: Segment, trusted_below: int, *, verify: bool) -> bool:
        """Read the segment's batches; cut what is not whole. False if something was cut: then no later segment can be
        right.
        """
        assert segment.file is not None, "recovery opens each segment first"
        if self._segments and self._segments[-1].end_offset > segment.base_offset:
            raise CorruptFile(segment.path, f"the segment before it ends at offset {self._segments[-1].end_offset}")
        stop: ScanEnd | None = None
        for item in scan(segment.file, verify=verify):
            if isinstance(item, ScanEnd):
                stop = item
            elif item.base_offset < segment.end_offset:
                stop = ScanEnd(
                    item.position, f"offset {item.base_offset} where {segment.end_offset} is due", torn=False
                )
            else:
                try:
                    segment.add(item)
                except IndexOverflow as error:
                    raise CorruptFile(segment.path, str(error), item.position) from error
                self._note(item)
                continue
            break
        if stop is None:
            return True
        if segment.end_offset < trusted_below:
            raise CorruptFile(segment.path, stop.reason, stop.position)
        self.cut_bytes += segment.file.size() - stop.position
        segment.file.truncate(stop.position)
        segment.file.fdatasync()
        return False

    def _remove_from(self, bases: list[Offset]) -> None:
        for base in reversed(bases):
            gone = Segment(self.directory, base)
            disk_work.perform(self._filesystem, [disk_work.RemoveSegment(gone)])

    def _note(self, batch: BatchPlace) -> None:
        if not self._epoch_starts or batch.epoch > self._epoch_starts[-1][0]:
            self._epoch_starts.append((Epoch(batch.epoch), Offset(batch.base_offset)))
        note_batch(self.producers, batch)

    def _write_epochs(self) -> None:
        path = join(self.directory, small_files.LEADER_EPOCH_CHECKPOINT)
        small_files.write_atomically(self._filesystem, path, small_files.encode_epoch_starts(self._epoch_starts))

    # Reading.

    @property
    def start_offset(self) -> Offset:
        return self._start

    @property
    def end_offset(self) -> Offset:
        return Offset(self._segments[-1].end_offset)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def epoch_starts(self) -> tuple[tuple[Epoch, Offset], ...]:
        return tuple(self._epoch_starts)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`: at least one, else no more than `max_bytes`; b""
        at the end.
        """
        if not self._start <= offset <= self.end_offset:
            raise InvalidOffset(f"offset {offset} is outside of {self.directory} ({self._start}..{self.end_offset})")
        at = bisect_right(self._segments, int(offset), key=lambda segment: segment.base_offset) - 1
        for segment in self._segments[at:]:
            if data := segment.read(offset, max_bytes, segment.size):
                return data
        return b""

    def batches_from(self, timestamp: int) -> bytes:
        """The first batch whose largest timestamp is `timestamp` or later, whole; b"" when there is none."""
        for segment in self._segments:
            if segment.indexes.max_timestamp < timestamp:
                continue
            for batch in self._batches(segment, segment.indexes.time.lookup(timestamp)):
                if batch.max_timestamp >= timestamp and batch.last_offset >= self._start:
                    assert segment.file is not None, f"{segment.path} is open"
                    return segment.file.read_at(batch.position, batch.size)
        return b""

    def batch_of_max_timestamp(self) -> bytes:
        """The batch that holds the latest record; b"" when the log is empty."""
        latest = max(self._segments, key=lambda segment: segment.indexes.max_timestamp)
        if latest.indexes.max_timestamp == NO_TIMESTAMP:
            return b""
        return self.read(Offset(max(latest.indexes.offset_of_max_timestamp, self._start)), 1)

    def _batches(self, segment: Segment, offset: int) -> Iterator[BatchPlace]:
        assert segment.file is not None, f"{segment.path} is open"
        for item in scan(segment.file, segment.indexes.offset.lookup(offset), verify=False, end=segment.size):
            if isinstance(item, ScanEnd):
                raise CorruptFile(segment.path, item.reason, item.position)
            yield item

    # Writing.

    def append(self, batches: bytes) -> Offset:
        """Write whole batches, offsets and epochs set, at the end. Returns the new end offset; nothing is synced."""
        try:
            places = list(split_batches(batches))
        except ValueError as error:
            raise InvalidOffset(f"{self.directory}: {error}") from error
        position = 0
        for batch in places:
            if batch.base_offset < self.end_offset:
                raise InvalidOffset(f"{self.directory}: offset {batch.base_offset}, the log ends at {self.end_offset}")
            self._append_batch(batch, batches[position : position + batch.size])
            position += batch.size
        return self.end_offset

    def _append_batch(self, batch: BatchPlace, data: bytes) -> None:
        segment = self._segments[-1]
        first = segment.first_timestamp
        too_old = first is not None and batch.max_timestamp - first > self._config.segment_ms
        too_far = batch.last_offset - segment.base_offset > MAX_RELATIVE  # as in Kafka, another segment has room for it
        if too_far or (segment.size and (segment.size + batch.size > self._config.segment_bytes or too_old)):
            segment = self._roll(batch.base_offset)
        assert segment.file is not None, f"{segment.path} is open"
        segment.file.write_at(segment.size, data)
        segment.add(replace(batch, position=segment.size))
        if segment not in self._dirty:
            self._dirty.append(segment)
        epochs = len(self._epoch_starts)
        self._note(batch)
        if len(self._epoch_starts) != epochs:
            self._write_epochs()

    def _roll(self, base_offset: int) -> Segment:
        self._segments[-1].indexes.close()
        self._write_index_entries(self._segments[-1])
        return self._new_segment(base_offset)

    def _new_segment(self, base_offset: int) -> Segment:
        segment = Segment(self.directory, base_offset, interval_bytes=self._config.index_interval_bytes)
        disk_work.perform(self._filesystem, [disk_work.CreateSegment(segment)])
        recovery.write_indexes_anew(self._filesystem, segment, closed=False)
        self._segments.append(segment)
        return segment

    def _write_index_entries(self, segment: Segment) -> None:
        for path, position, data in segment.new_index_entries():
            write_index_entries(self._filesystem, path, position, data)

    def delete_before(self, offset: Offset) -> None:
        """Let the log begin at `offset`; whole segments below it are removed. The owner checkpoints the new start."""
        if not self._start <= offset <= self.end_offset:
            raise InvalidOffset(f"{self.directory} ({self._start}..{self.end_offset}) cannot begin at {offset}")
        self._start = offset
        while len(self._segments) > 1 and self._segments[1].base_offset <= offset:
            gone = self._segments.pop(0)
            self._dirty = [segment for segment in self._dirty if segment is not gone]
            disk_work.perform(self._filesystem, [disk_work.RemoveSegment(gone)])

    def flush(self) -> Offset:
        """Make everything durable and return the new recovery point."""
        end = self.end_offset
        for segment in self._dirty:
            assert segment.file is not None, f"{segment.path} is open"
            segment.file.fdatasync()
        self._dirty = []
        self.recovery_point = end
        return end

    def abandon(self) -> None:
        """Let go of the files as they are, after a fault: what is in them is for the next recovery to judge."""
        for segment in self._segments:
            if segment.file is not None:
                segment.file.close()
                segment.file = None

    def close(self) -> None:
        """Flush, finish the indexes, and let go of the files."""
        self.flush()
        self._segments[-1].indexes.close()
        for segment in self._segments:
            self._write_index_entries(segment)
            if segment.file is not None:
                segment.file.close()
                segment.file = None


def partition_directory(topic: str, partition: int) -> str:
    """The name of a partition's directory."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic, partition) of a directory name; None for names that are no partition's."""
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not partition.isdecimal() or name.endswith((file_names.DELETED, "-delete", "-stray")):
        return None
    return topic, int(partition)
