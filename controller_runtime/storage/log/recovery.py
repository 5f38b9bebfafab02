"""What is found on a disk after a stop of any kind, made a log again.

What is trusted is not read: everything after a clean stop, and after any other the segments that end below the recovery
point. The rest is read batch by batch, with checksums. Of an `ordered` log nothing is trusted. Explained, and mended:

* indexes of any content, and index files without a log;
* in an ordered log a torn tail: the last segment ends inside a batch, or in bytes that are no batch with no whole batch
  after them;
* in the log of a partition whatever is not whole above the recovery point, with all that follows: it was never called
  durable.

Everything else is refused with the file and the place: a hole between segments, a bad batch before good ones, offsets
or epochs that go back. Truncating there could forget what was acknowledged.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from controller_runtime.identifiers import Epoch, Offset
from controller_runtime.protocol.producer_states import ProducerEntry, note_batch
from controller_runtime.protocol.record_batch import HEADER_BYTES, LENGTH_END, BatchHeader
from controller_runtime.protocol.transaction_markers import marker_of
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import CorruptFile, IndexOverflow
from controller_runtime.storage.filesystem import File, FileSystem, join, read_whole
from controller_runtime.storage.log.aborted import AbortedIndexes, AbortedTransaction, aborted_by
from controller_runtime.storage.log.batches import ScanEnd, checksum_holds, parse_batch, scan
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.disk_work import RemoveSegment, perform, remove_files
from controller_runtime.storage.log.epochs import EpochStarts, load_epochs
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.log.producer_snapshots import decode_producers, newest_snapshot
from controller_runtime.storage.log.segment import Segment, put_end
from controller_runtime.storage.remembered_logs import RememberedLog
from controller_runtime.storage.small_files import LEADER_EPOCH_CHECKPOINT
from controller_runtime.values import dataclass, field

EVERYTHING: Final = (1 << 63) - 1
"""As a recovery point: the last stop was clean."""
_SEARCH_WINDOW: Final = 8 << 20
"""How far behind a bad batch a good one is looked for: more than any one append."""


@dataclass(slots=True)
class Recovered:
    """What a log consists of. Without segments it is new."""

    segments: list[Segment] = field(default_factory=list)
    unsynced: list[Segment] = field(default_factory=list)
    """What was read: a killed process may have left bytes there that only the kernel's memory holds."""
    epochs: EpochStarts = field(default_factory=EpochStarts)
    epochs_changed: bool = False
    """The checkpoint of the epochs says something else."""
    epochs_missing: bool = False
    """There is no checkpoint of the epochs."""
    producers: dict[int, ProducerEntry] = field(default_factory=dict)
    cut_bytes: int = 0

    @property
    def end_offset(self) -> int:
        return self.segments[-1].end_offset if self.segments else 0


def remove_leftovers(filesystem: FileSystem, directory: str) -> None:
    """Delete what unfinished operations left: `.part`, `.deleted`, `.tmp`."""
    names = filesystem.list_directory(directory)
    remove_files(filesystem, directory, [n for n in names if file_names.is_leftover(n) or n.endswith(".tmp")])


def recover(
    files: OpenFiles, directory: str, config: LogConfig, *, ordered: bool, recovery_point: int = 0
) -> Recovered:
    """Trust what may be trusted, read the rest, cut what a crash explains, and rebuild the indexes of what was read."""
    bases = _segment_offsets(files.filesystem, directory)
    known = None if ordered else load_epochs(files.filesystem, directory)
    if known is not None and not known.entries():
        known = None  # it knows of no batch
    first = 0 if known is None else _first_to_read(bases, recovery_point)
    recovered = Recovered()
    for base, next_base in zip(bases[:first], [*bases[1:], None], strict=False):
        recovered.segments.append(Segment.trusted(files, directory, base, config.index_interval_bytes, next_base))
    if known is not None:
        known.cut(bases[first] if first < len(bases) else recovered.end_offset)
        recovered.epochs = known
    _Reading(files, directory, config, recovered=recovered, ordered=ordered, recovery_point=recovery_point).read(
        bases[first:]
    )
    path = join(directory, LEADER_EPOCH_CHECKPOINT)
    recovered.epochs_missing = not files.filesystem.exists(path)
    recovered.epochs_changed = (
        recovered.epochs_missing or read_whole(files.filesystem, path) != recovered.epochs.encode()
    )
    return recovered


def recall(files: OpenFiles, directory: str, config: LogConfig, remembered: RememberedLog) -> Recovered | None:
    """What a clean stop remembers of the log, if it lies here as it was left; nothing is opened. None: look at it."""
    filesystem, recovered = files.filesystem, Recovered()
    try:
        if filesystem.names_stamp(directory) != remembered.names_stamp or not remembered.segments:
            return None
        for base, size, end in remembered.segments:
            segment = Segment.remembered(files, directory, base, config.index_interval_bytes, size=size, end_offset=end)
            if filesystem.size_of(segment.path) != size:
                return None
            recovered.segments.append(segment)
        if remembered.producers:
            recovered.producers = decode_producers(remembered.producers)
    except (OSError, ValueError):
        return None
    recovered.epochs = EpochStarts((Epoch(epoch), Offset(start)) for epoch, start in remembered.epochs)
    return recovered


def _first_to_read(bases: list[Offset], recovery_point: int) -> int:
    return len(bases) if recovery_point == EVERYTHING else max(0, bisect_right(bases, recovery_point) - 1)


def _segment_offsets(filesystem: FileSystem, directory: str) -> list[Offset]:
    """Base offsets of the `.log` files, ascending. Index files without a log are removed."""
    names = filesystem.list_directory(directory)
    parsed = {name: place for name in names if (place := file_names.parse_segment_file(name))}
    bases = sorted(base for base, suffix in parsed.values() if suffix == file_names.LOG)
    indexes, kept = {file_names.OFFSET_INDEX, file_names.TIME_INDEX}, set(bases)
    orphans = [name for name, (base, suffix) in parsed.items() if suffix in indexes and base not in kept]
    remove_files(filesystem, directory, orphans)
    return bases


@dataclass(slots=True)
class _Reading:
    """The part of a recovery that reads segments, from the first one that is not trusted to the end."""

    files: OpenFiles
    directory: str
    config: LogConfig
    recovered: Recovered
    ordered: bool
    recovery_point: int

    def read(self, bases: list[Offset]) -> None:
        """Go through these segments, the last ones of the log."""
        if not self.ordered:
            known, end = self.recovered.segments, bases[0] if bases else self.recovered.end_offset
            self.recovered.producers = producers_at(self.files, self.directory, known, end)
        for number, base in enumerate(bases):
            is_last = number == len(bases) - 1
            segment = Segment(self.files, self.directory, base, self.config.index_interval_bytes)
            self._check_join(segment)
            aborted: list[AbortedTransaction] = []
            stop = self._scan(segment, aborted)
            if stop is not None:
                self._cut(segment, stop, bases[number + 1 :])
            self.recovered.segments.append(segment)
            if segment.size:
                self.recovered.unsynced.append(segment)
            write_indexes_anew(self.files.filesystem, segment, closed=not is_last and stop is None)
            if not self.ordered:
                _write_aborted(self.files.filesystem, segment, aborted)
            if stop is not None:
                break
        if self.ordered:
            self._make_durable()

    def _make_durable(self) -> None:
        """What a recovery of an ordered log finds will be acted on: else a power loss could take back what was promised
        since. The segments before the last were synced before the next one was made.
        """
        for segment in self.recovered.segments[-1:]:
            segment.file.fdatasync()
        self.recovered.unsynced.clear()
        self.files.filesystem.sync_directory(self.directory)

    def _check_join(self, segment: Segment) -> None:
        if not self.recovered.segments:
            return
        before = self.recovered.segments[-1]
        if before.end_offset > segment.base_offset or (self.ordered and before.end_offset != segment.base_offset):
            reason = f"ends at offset {before.end_offset}, the next segment begins at {segment.base_offset}"
            raise CorruptFile(before.path, reason, before.size)

    def _scan(self, segment: Segment, aborted: list[AbortedTransaction]) -> ScanEnd | None:
        """Note every batch; or say where and why the segment must end. `aborted` gets what markers end."""
        recovered = self.recovered
        for item in scan(segment.file):
            if isinstance(item, ScanEnd):
                return item
            if (wrong := self._out_of_order(segment, item)) is not None:
                return ScanEnd(item.position, wrong, torn=False)
            try:
                segment.add(item)
            except IndexOverflow as error:
                raise CorruptFile(segment.path, str(error), item.position) from error
            recovered.epochs.note(item.partition_leader_epoch, item.base_offset)
            if (ended := note_from(segment, recovered.producers, item)) is not None:
                aborted.append(ended)
        return None

    def _out_of_order(self, segment: Segment, batch: BatchHeader) -> str | None:
        """Only in an ordered log a wrong order is refused at once: no crash explains it."""
        due, wrong = segment.end_offset, None
        if batch.base_offset < due or (self.ordered and batch.base_offset != due):
            wrong = f"a batch with offset {batch.base_offset} where {due} is due"
        elif self.ordered and batch.partition_leader_epoch < self.recovered.epochs.latest:
            latest = self.recovered.epochs.latest
            wrong = f"epoch {batch.partition_leader_epoch} at offset {batch.base_offset} after epoch {latest}"
        if wrong is not None and self.ordered:
            raise CorruptFile(segment.path, wrong, batch.position)
        return wrong

    def _cut(self, segment: Segment, stop: ScanEnd, later: list[Offset]) -> None:
        """End the segment where it stops being right, if a crash explains that; later segments go with it."""
        if self.ordered:
            _judge_tail(segment, stop, last=not later)
        elif segment.end_offset < self.recovery_point:
            raise CorruptFile(segment.path, stop.reason, stop.position)
        file = segment.file
        self.recovered.cut_bytes += file.size() - stop.position
        file.truncate(stop.position)
        file.fdatasync()
        gone = [RemoveSegment(Segment(self.files, self.directory, base)) for base in reversed(later)]
        perform(self.files.filesystem, gone)


def producers_at(files: OpenFiles, directory: str, segments: list[Segment], end: int) -> dict[int, ProducerEntry]:
    """What is known of producers at `end`: from the newest snapshot below it, and from the headers of the batches
    behind that one. They are trusted.
    """
    found = newest_snapshot(files.filesystem, directory, end)
    producers = dict(found.producers)
    for segment in segments:
        if segment.end_offset <= found.offset or not segment.size:
            continue
        start = segment.indexes.offset.lookup(found.offset)
        for item in scan(segment.file, start, verify=False, end=segment.size):
            if isinstance(item, ScanEnd):
                raise CorruptFile(segment.path, item.reason, item.position)
            if item.base_offset >= found.offset:
                note_from(segment, producers, item)
    return producers


def note_from(segment: Segment, producers: dict[int, ProducerEntry], batch: BatchHeader) -> AbortedTransaction | None:
    """Take a batch of the segment into the account of producers; the transaction that it aborts."""
    if not batch.is_control:
        note_batch(producers, batch)
        return None
    return note_control(producers, batch, segment.file.read_at(batch.position, batch.size_in_bytes))


def note_control(producers: dict[int, ProducerEntry], batch: BatchHeader, data: bytes) -> AbortedTransaction | None:
    marker = marker_of(batch, data)
    aborted = None if marker is None or marker.commit else aborted_by(producers, batch)
    note_batch(producers, batch, None if marker is None else marker.coordinator_epoch)
    return aborted


def _write_aborted(filesystem: FileSystem, segment: Segment, aborted: list[AbortedTransaction]) -> None:
    """Its index of aborted transactions says what its batches say."""
    indexes = AbortedIndexes(filesystem)
    try:
        task = indexes.put(segment, aborted)
    except CorruptFile:
        remove_files(filesystem, segment.directory, [segment.path_of(file_names.TRANSACTION_INDEX).rpartition("/")[2]])
        task = indexes.put(segment, aborted)
    if task is not None:
        perform(filesystem, [task])


def write_indexes_anew(filesystem: FileSystem, segment: Segment, *, closed: bool) -> None:
    """Replace both index files by what the scan found. What was there is not durably gone before a sync."""
    if closed:
        segment.indexes.close()
    for path, position, data in segment.new_index_entries(anew=True):
        before = put_end(filesystem, path, position, data)
        segment.had_entries |= before > 0 and path.endswith(file_names.OFFSET_INDEX)


def _judge_tail(segment: Segment, stop: ScanEnd, *, last: bool) -> None:
    """Return if a crash during the last append explains the bytes from here on, else raise."""
    if not last:
        raise CorruptFile(segment.path, f"{stop.reason}, and later segments follow", stop.position)
    if (found := _batch_after(segment.file, stop.position, segment.end_offset)) is not None:
        raise CorruptFile(segment.path, f"{stop.reason}, but a valid batch follows at byte {found}", stop.position)


def _batch_after(file: File, position: int, expected_offset: int) -> int | None:
    """The position of a whole valid batch that lies after a bad one: then no crash during an append explains the bad
    one.
    """
    data = file.read_at(position, _SEARCH_WINDOW)
    # A batch that continues this log has magic 2 at byte 16, so candidates are few.
    at = data.find(b"\x02", 17)
    while at >= 0:
        start = at - 16
        if len(data) - start >= HEADER_BYTES:
            batch = parse_batch(data, start, position + start)
            if not isinstance(batch, str) and batch.base_offset >= expected_offset:
                end = start + batch.size_in_bytes
                if (
                    end <= len(data)
                    and batch.size_in_bytes > LENGTH_END
                    and checksum_holds(memoryview(data)[start:end])
                ):
                    return position + start
        at = data.find(b"\x02", at + 1)
    return None
