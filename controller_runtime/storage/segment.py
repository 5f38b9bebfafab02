"""One segment of a log: its file, its length, its indexes, and finding a batch in it.

The numbers here describe the segment as its owner sees it; bytes beyond what a writer has performed may still be on
their way to the file. The owner reads from the file only below what was written.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.storage import file_names
from controller_runtime.storage.batch_scan import HEADER_SIZE, BatchPlace, checksum_holds, parse_batch
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import File, FileSystem, join
from controller_runtime.storage.indexes import DEFAULT_INTERVAL_BYTES, SegmentIndexes
from controller_runtime.values import dataclass, field

_SEARCH_CHUNK: Final = 64 << 10


@dataclass(slots=True, eq=False)
class Segment:
    """A run of batches from `base_offset` (inclusive) to `end_offset` (exclusive)."""

    directory: str
    base_offset: int
    file: File | None = None
    size: int = 0
    end_offset: int = field(default=-1)
    first_timestamp: int | None = None
    interval_bytes: int = DEFAULT_INTERVAL_BYTES
    indexes: SegmentIndexes = field(init=False)
    offset_entries_written: int = 0
    time_entries_written: int = 0

    def __post_init__(self) -> None:
        self.indexes = SegmentIndexes(self.base_offset, self.interval_bytes)
        if self.end_offset < 0:
            self.end_offset = self.base_offset

    @property
    def path(self) -> str:
        return join(self.directory, file_names.segment_file(self.base_offset, file_names.LOG))

    def path_of(self, suffix: str) -> str:
        return join(self.directory, file_names.segment_file(self.base_offset, suffix))

    def add(self, batch: BatchPlace) -> None:
        """Note a batch at the segment's end. Raises IndexOverflow, and has noted nothing, when it is too far from the
        beginning.
        """
        assert batch.position == self.size, f"{self.path}: a batch at {batch.position}, the segment ends at {self.size}"
        self.indexes.add(batch)
        if self.first_timestamp is None:
            self.first_timestamp = batch.max_timestamp
        self.size = batch.end
        self.end_offset = batch.last_offset + 1

    def find(self, offset: int, written: int) -> BatchPlace | None:
        """The batch that holds `offset`, or the first after it, among the first `written` bytes of the file."""
        assert self.file is not None, f"{self.path} is not open"
        position = self.indexes.offset.lookup(offset)
        chunk, start = b"", position
        while position < written:
            at = position - start
            if len(chunk) - at < HEADER_SIZE:
                chunk, start, at = self.file.read_at(position, min(_SEARCH_CHUNK, written - position)), position, 0
            place = parse_batch(chunk, at, position) if len(chunk) >= HEADER_SIZE else "the file ends early"
            if isinstance(place, str):
                raise CorruptFile(self.path, place, position)
            if place.last_offset >= offset:
                return place
            position = place.end
        return None

    def read(self, offset: int, max_bytes: int, written: int, *, checked: bool = False) -> bytes:
        """Whole batches from the one that holds `offset`: at least one, else no more than `max_bytes`.

        `checked`: each is verified, for whoever must not pass on what the disk has made of it since it was written.
        """
        assert self.file is not None, f"{self.path} is not open"
        first = self.find(offset, written)
        if first is None:
            return b""
        wanted = min(max(max_bytes, first.size), written - first.position)
        data = self.file.read_at(first.position, wanted)
        data = data[: whole_batches(data)]
        if checked:
            verify(data, self.path, first.position, offset)
        return data

    def truncate(self, size: int, end_offset: int) -> None:
        """Forget what lies at byte `size` and after; `end_offset` is the offset there."""
        self.size, self.end_offset = size, end_offset
        self.indexes.truncate(size, end_offset)
        if size == 0:
            self.first_timestamp = None
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
        return [write for write in writes if write[2] or anew]


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
        if not checksum_holds(view[at : at + batch.size]):
            raise CorruptFile(path, f"checksum of the batch at offset {batch.base_offset} does not hold", position + at)
        at, expected = at + batch.size, batch.last_offset + 1


def whole_batches(data: bytes) -> int:
    """How many of these bytes are whole batches."""
    position = 0
    while len(data) - position >= HEADER_SIZE:
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        if position + size > len(data):
            break
        position += size
    return position


def write_index_entries(filesystem: FileSystem, path: str, position: int, data: bytes) -> None:
    """Put entries at the end of an index file and cut what was there beyond. Not synced: indexes can be rebuilt."""
    file = filesystem.open(path, create=True)
    try:
        if data:
            file.write_at(position, data)
        if file.size() != position + len(data):
            file.truncate(position + len(data))
    finally:
        file.close()
