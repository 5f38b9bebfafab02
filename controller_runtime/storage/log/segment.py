"""One segment of a log: its file, its length, its indexes, and finding a batch in it.

The numbers here describe the segment as its owner sees it; bytes beyond what a writer has performed may still be on
their way to the file. The owner reads from the file only below what was written. A segment that is trusted (`trusted`)
is not read when its log is opened: its index files, and the few batches behind their last entries, are looked at when
they are needed.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.record_batch import HEADER_BYTES, BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import CorruptFile, IndexOverflow
from controller_runtime.storage.filesystem import File, FileSystem, join, read_whole
from controller_runtime.storage.log.batches import ScanEnd, checksum_holds, parse_batch, scan
from controller_runtime.storage.log.indexes import (
    DEFAULT_INTERVAL_BYTES,
    OffsetIndex,
    SegmentIndexes,
    TimeIndex,
)
from controller_runtime.storage.log.open_files import OpenFiles

_SEARCH_CHUNK: Final = 64 << 10


class Segment:
    """A run of batches from `base_offset` (inclusive) to `end_offset` (exclusive; of a trusted segment that others
    follow, where the next one begins).
    """

    __slots__ = (
        "_first_timestamp", "_indexes", "base_offset", "directory", "end_offset", "files", "had_entries",
        "indexes_unsynced", "interval_bytes", "offset_entries_written", "path", "size", "time_entries_written",
    )  # fmt: skip

    def __init__(
        self, files: OpenFiles, directory: str, base_offset: int, interval_bytes: int = DEFAULT_INTERVAL_BYTES
    ) -> None:
        """Empty. Nothing is asked of the disk."""
        self.files: Final = files
        self.directory: Final = directory
        self.base_offset: Final = base_offset
        self.path: Final = join(directory, file_names.segment_file(base_offset, file_names.LOG))
        self.interval_bytes = interval_bytes
        self.size = 0
        self.end_offset = base_offset
        self.offset_entries_written = 0
        self.time_entries_written = 0
        self.indexes_unsynced = False
        """The index files hold what no sync has made durable."""
        self.had_entries = False
        """The offset index has, or may once have had, entries. Without any all batches are walked when it is loaded, so
        what the index files say need not be durable.
        """
        self._first_timestamp: int | None = None
        self._indexes: SegmentIndexes | None = SegmentIndexes(base_offset, interval_bytes)

    @classmethod
    def trusted(
        cls, files: OpenFiles, directory: str, base_offset: int, interval_bytes: int, next_base: int | None
    ) -> Segment:
        """All bytes of the file are right. The last segment of its log (without `next_base`) is asked where it ends."""
        segment = cls(files, directory, base_offset, interval_bytes)
        segment.size = segment.file.size()
        if segment.size == 0:
            return segment
        segment._indexes = None
        if next_base is None:
            segment._load()
        else:
            segment.end_offset = next_base
        return segment

    @classmethod
    def remembered(
        cls, files: OpenFiles, directory: str, base_offset: int, interval_bytes: int, *, size: int, end_offset: int
    ) -> Segment:
        """As a clean stop left it. Nothing is asked of the disk."""
        segment = cls(files, directory, base_offset, interval_bytes)
        if size:
            segment.size, segment.end_offset, segment._indexes = size, end_offset, None
        return segment

    @property
    def file(self) -> File:
        return self.files.get(self.path)

    def path_of(self, suffix: str) -> str:
        return join(self.directory, file_names.segment_file(self.base_offset, suffix))

    @property
    def indexes(self) -> SegmentIndexes:
        if self._indexes is None:
            self._load()
        assert self._indexes is not None, "just loaded"
        return self._indexes

    def configure(self, interval_bytes: int) -> None:
        """From the next batch on."""
        self.interval_bytes = interval_bytes
        if self._indexes is not None:
            self._indexes.interval_bytes = interval_bytes

    def close_indexes(self) -> None:
        """It will not grow any more in this run. What was not loaded was closed by the run before."""
        if self._indexes is not None:
            self._indexes.close()

    @property
    def has_unwritten_entries(self) -> bool:
        """Whether the index files lack what is known here."""
        known = self._indexes
        return known is not None and (
            len(known.offset.offsets) > self.offset_entries_written
            or len(known.time.offsets) > self.time_entries_written
        )

    @property
    def first_timestamp(self) -> int | None:
        """The largest timestamp of the first batch; None while there is none."""
        if self._first_timestamp is None and self.size:
            first = parse_batch(self.file.read_at(0, HEADER_BYTES).ljust(HEADER_BYTES, b"\0"), 0, 0)
            if isinstance(first, str):
                raise CorruptFile(self.path, first, 0)
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    # From the index files.

    def _load(self) -> None:
        """Take the index files at their word as far as they go, and the batches behind their last entry for the rest;
        without index files that fit, all batches.
        """
        indexes = self._decoded()
        self.had_entries |= indexes is None or bool(indexes.offset.offsets)
        if indexes is not None and not self.had_entries:
            self._load_small(indexes.time)
            return
        if indexes is not None and not isinstance(self._walk(indexes), ScanEnd):
            self.offset_entries_written, self.time_entries_written = (
                len(indexes.offset.offsets),
                len(indexes.time.offsets),
            )
            return
        self._walk_all()

    def _load_small(self, found: TimeIndex) -> None:
        """Nothing of it was made durable: the time index is believed where it is what the batches say."""
        indexes = self._walk_all()
        if found.offsets and (found.timestamps[-1], found.offsets[-1]) == indexes.last_time_entry:
            indexes.close()
            self.time_entries_written = len(indexes.time.offsets)

    def _walk_all(self) -> SegmentIndexes:
        indexes = SegmentIndexes(self.base_offset, self.interval_bytes)
        self.offset_entries_written = self.time_entries_written = 0
        if isinstance(stop := self._walk(indexes), ScanEnd):
            raise CorruptFile(self.path, stop.reason, stop.position)
        return indexes

    def _decoded(self) -> SegmentIndexes | None:
        indexes = SegmentIndexes(self.base_offset, self.interval_bytes)
        filesystem = self.files.filesystem
        try:
            offset = read_whole(filesystem, self.path_of(file_names.OFFSET_INDEX))
            time = read_whole(filesystem, self.path_of(file_names.TIME_INDEX))
            indexes.take(OffsetIndex.decode(self.base_offset, offset), TimeIndex.decode(self.base_offset, time))
        except (FileNotFoundError, ValueError):
            return None
        return indexes if indexes.last_entry_position < self.size else None

    def _walk(self, indexes: SegmentIndexes) -> ScanEnd | None:
        """Add what lies behind the last entry; or say why the entry, or a batch, cannot be right."""
        last, end = indexes.offset.last_offset, self.base_offset
        for item in scan(self.file, indexes.last_entry_position, verify=False, end=self.size):
            if isinstance(item, ScanEnd):
                return item
            if item.base_offset < end or (last is not None and item.last_offset != last):
                return ScanEnd(item.position, f"a batch of offsets {item.base_offset}..{item.last_offset}", torn=False)
            try:
                indexes.add(item)
            except IndexOverflow as error:
                return ScanEnd(item.position, str(error), torn=False)
            last, end = None, item.last_offset + 1
        self._indexes, self.end_offset = indexes, max(self.end_offset, end)
        return None

    # Growing and shrinking.

    def add(self, batch: BatchHeader) -> None:
        """Note a batch at the segment's end. Raises IndexOverflow, and has noted nothing, when it is too far from the
        beginning.
        """
        assert batch.position == self.size, f"{self.path}: a batch at {batch.position}, the segment ends at {self.size}"
        (self._indexes or self.indexes).add(batch)
        if self.size == 0:
            self._first_timestamp = batch.max_timestamp
        self.size += batch.size_in_bytes
        self.end_offset = batch.next_offset

    def truncate(self, size: int, end_offset: int) -> None:
        """Forget what lies at byte `size` and after; `end_offset` is the offset there."""
        self.indexes.truncate(size, end_offset)
        self.size, self.end_offset = size, end_offset
        if size == 0:
            self._first_timestamp = None
        self.offset_entries_written = min(self.offset_entries_written, len(self.indexes.offset.offsets))
        self.time_entries_written = min(self.time_entries_written, len(self.indexes.time.offsets))

    def new_index_entries(self, *, anew: bool = False) -> list[tuple[str, int, bytes]]:
        """(path, position, bytes) for each index file that lacks entries, and note them as written; `anew`: both, from
        the start.
        """
        if anew:
            self.offset_entries_written = self.time_entries_written = 0
        offset, time = self.indexes.offset, self.indexes.time
        writes = [
            (
                self.path_of(file_names.OFFSET_INDEX),
                self.offset_entries_written * 8,
                offset.encode(self.offset_entries_written),
            ),
            (
                self.path_of(file_names.TIME_INDEX),
                self.time_entries_written * 12,
                time.encode(self.time_entries_written),
            ),
        ]
        self.offset_entries_written, self.time_entries_written = len(offset.offsets), len(time.offsets)
        self.had_entries |= bool(offset.offsets)
        made = [write for write in writes if write[2] or anew]
        self.indexes_unsynced |= any(write[2] for write in made) or (anew and self.size > 0)
        return made

    # Reading.

    def find(self, offset: int, written: int) -> BatchHeader | None:
        """The batch that holds `offset`, or the first after it, among the first `written` bytes of the file."""
        position = self.indexes.offset.lookup(offset)
        file, chunk, start = self.file, b"", position
        while position < written:
            at = position - start
            if len(chunk) - at < HEADER_BYTES:
                chunk, start, at = file.read_at(position, min(_SEARCH_CHUNK, written - position)), position, 0
            batch = parse_batch(chunk, at, position) if len(chunk) >= HEADER_BYTES else "the file ends early"
            if isinstance(batch, str):
                raise CorruptFile(self.path, batch, position)
            if batch.last_offset >= offset:
                return batch
            position = batch.end_position
        return None

    def read(self, offset: int, max_bytes: int, written: int, *, checked: bool = False) -> bytes:
        """Whole batches from the one that holds `offset`: at least one, else no more than `max_bytes`.

        `checked`: each is verified, for whoever must not pass on what the disk has made of it since it was written.
        """
        first = self.find(offset, written)
        if first is None:
            return b""
        wanted = min(max(max_bytes, first.size_in_bytes), written - first.position)
        data = self.file.read_at(first.position, wanted)
        data = data[: whole_batches(data)]
        if checked:
            verify(data, self.path, first.position, offset)
        return data


def verify(data: bytes, path: str, position: int, offset: int) -> None:
    """Raise `CorruptFile` unless these bytes, read at `position`, are batches as they were written, the first with
    `offset` in it.

    Offsets are not under the checksum, but those of a metadata log have no gaps.
    """
    if not data:
        raise CorruptFile(path, f"no whole batch where offset {offset} should be", position)
    view, at, expected = memoryview(data), 0, None
    while at < len(data):
        batch = parse_batch(data, at, position + at)
        if isinstance(batch, str):
            raise CorruptFile(path, batch, position + at)
        in_order = batch.base_offset == expected if expected else batch.base_offset <= offset <= batch.last_offset
        if not in_order:
            raise CorruptFile(path, f"a batch of offsets {batch.base_offset}..{batch.last_offset}", position + at)
        if not checksum_holds(view[at : at + batch.size_in_bytes]):
            raise CorruptFile(path, f"checksum of the batch at offset {batch.base_offset} does not hold", position + at)
        at, expected = at + batch.size_in_bytes, batch.last_offset + 1


def whole_batches(data: bytes) -> int:
    """How many of these bytes are whole batches."""
    position = 0
    while len(data) - position >= HEADER_BYTES:
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        if position + size > len(data):
            break
        position += size
    return position


def put_end(filesystem: FileSystem, path: str, position: int, data: bytes) -> int:
    """Let a file that can be rebuilt end with these bytes, at `position`. Not synced. How long it was."""
    file = filesystem.open(path, create=True)
    try:
        before = file.size()
        if data:
            file.write_at(position, data)
        if max(before, position + len(data) if data else 0) != position + len(data):
            file.truncate(position + len(data))
        return before
    finally:
        file.close()


def sync_file(filesystem: FileSystem, path: str) -> None:
    """Make a file durable that is not kept open; one that is missing has nothing to lose."""
    try:
        file = filesystem.open(path)
    except FileNotFoundError:
        return
    try:
        file.fdatasync()
    finally:
        file.close()
