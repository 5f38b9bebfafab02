"""The sparse indexes beside a log segment, with Apache Kafka's arithmetic.

An index is a cache: whatever it says can be rebuilt from the segment, so a missing or odd one is replaced. It is synced
when its segment is closed: from then on a start may believe it without reading the segment. Entries are added as
`LogSegment.append` of Apache Kafka does: before a batch is added, if more than `interval` bytes came since the last
entry. So an index that we rebuild equals the one Java would build from the same file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_right
from operator import le, lt
from typing import Final

from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage.errors import IndexOverflow
from controller_runtime.values import dataclass, field

DEFAULT_INTERVAL_BYTES: Final = 4096
MAX_RELATIVE: Final = (1 << 31) - 1
"""Offsets and places are kept in 32 bits."""
NO_TIMESTAMP: Final = -1
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


@dataclass(slots=True)
class OffsetIndex:
    """(offset, position) pairs, ascending in both; offsets are stored relative to the segment's base."""

    base_offset: int
    offsets: array[int] = field(default_factory=lambda: array("i"))
    positions: array[int] = field(default_factory=lambda: array("i"))

    @property
    def last_offset(self) -> int | None:
        """Of the last entry."""
        return self.base_offset + self.offsets[-1] if self.offsets else None

    def append(self, offset: int, position: int) -> None:
        self.offsets.append(offset - self.base_offset)
        self.positions.append(position)

    def lookup(self, offset: int) -> int:
        """The position of a batch at or before the one that holds `offset`: where a scan may start."""
        at = bisect_right(self.offsets, offset - self.base_offset) - 1
        return self.positions[at] if at >= 0 else 0

    def truncate_to_position(self, position: int) -> None:
        """Drop entries of batches that begin at `position` or later."""
        while self.positions and self.positions[-1] >= position:
            self.positions.pop()
            self.offsets.pop()

    def encode(self, start: int = 0) -> bytes:
        pairs = zip(self.offsets[start:], self.positions[start:], strict=True)
        return b"".join(_OFFSET_ENTRY.pack(offset, position) for offset, position in pairs)

    @classmethod
    def decode(cls, base_offset: int, data: bytes) -> OffsetIndex:
        """Read a file. Java preallocates open indexes: trailing zero entries end it. Raises ValueError when entries do
        not ascend.
        """
        numbers = array("i", data[: len(data) // 8 * 8])
        if sys.byteorder == "little":
            numbers.byteswap()
        count = _written(numbers[0::2], numbers[1::2])
        index = cls(base_offset, numbers[0 : 2 * count : 2], numbers[1 : 2 * count : 2])
        for column in (index.offsets, index.positions):
            _check_ascending("offset index", column)
        return index


@dataclass(slots=True)
class TimeIndex:
    """(timestamp, offset) pairs: up to this entry no batch before `offset` is later than `timestamp`."""

    base_offset: int
    timestamps: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("i"))

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add the entry if it moves time forward."""
        if timestamp > (self.timestamps[-1] if self.timestamps else NO_TIMESTAMP):
            self.timestamps.append(timestamp)
            self.offsets.append(offset - self.base_offset)

    def lookup(self, timestamp: int) -> int:
        """An offset before which every batch's largest timestamp is below `timestamp`... or the segment's base."""
        at = bisect_right(self.timestamps, timestamp - 1) - 1
        return self.base_offset + self.offsets[at] if at >= 0 else self.base_offset

    def truncate_to_offset(self, offset: int) -> None:
        while self.offsets and self.offsets[-1] + self.base_offset >= offset:
            self.offsets.pop()
            self.timestamps.pop()

    def encode(self, start: int = 0) -> bytes:
        pairs = zip(self.timestamps[start:], self.offsets[start:], strict=True)
        return b"".join(_TIME_ENTRY.pack(timestamp, offset) for timestamp, offset in pairs)

    @classmethod
    def decode(cls, base_offset: int, data: bytes) -> TimeIndex:
        entries = list(_TIME_ENTRY.iter_unpack(data[: len(data) // 12 * 12]))
        timestamps, offsets = array("q", [one[0] for one in entries]), array("i", [one[1] for one in entries])
        count = _written(timestamps, offsets)
        index = cls(base_offset, timestamps[:count], offsets[:count])
        _check_ascending("time index", index.timestamps)
        _check_ascending("time index", index.offsets, strictly=False)
        return index


def _written(first: array[int], second: array[int]) -> int:
    """How many entries come before the first one that is all zeros."""
    at = -1
    while True:
        try:
            at = first.index(0, at + 1)
        except ValueError:
            return len(first)
        if second[at] == 0:
            return at


def _check_ascending(what: str, column: array[int], *, strictly: bool = True) -> None:
    in_order = lt if strictly else le
    if not all(map(in_order, column, column[1:])):
        at = next(at for at in range(1, len(column)) if not in_order(column[at - 1], column[at]))
        raise ValueError(f"{what} entries do not ascend at entry {at}")


@dataclass(slots=True)
class SegmentIndexes:
    """Both indexes of one segment and the little state that decides when they grow."""

    base_offset: int
    interval_bytes: int = DEFAULT_INTERVAL_BYTES
    offset: OffsetIndex = field(init=False)
    time: TimeIndex = field(init=False)
    max_timestamp: int = NO_TIMESTAMP
    offset_of_max_timestamp: int = -1
    last_entry_position: int = 0

    def __post_init__(self) -> None:
        self.offset = OffsetIndex(self.base_offset)
        self.time = TimeIndex(self.base_offset)

    def add(self, batch: BatchHeader) -> None:
        """Note a batch that is being added to the segment at its position. Raises IndexOverflow before anything is
        noted.
        """
        last_offset, position = batch.last_offset, batch.position
        if last_offset - self.base_offset > MAX_RELATIVE or position > MAX_RELATIVE:
            what = f"offset {last_offset} at byte {position}"
            raise IndexOverflow(f"{what} is too far from the segment's first offset {self.base_offset}")
        if batch.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max_timestamp = batch.max_timestamp, last_offset
        if position - self.last_entry_position > self.interval_bytes:
            self.offset.append(last_offset, position)
            self.time.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self.last_entry_position = position

    @property
    def last_time_entry(self) -> tuple[int, int]:
        """That of a closed segment: its largest timestamp, and the relative offset of that."""
        return self.max_timestamp, self.offset_of_max_timestamp - self.base_offset

    def take(self, offset: OffsetIndex, time: TimeIndex) -> None:
        """Go on where the files of a closed segment, or of one that was closed once, end."""
        self.offset, self.time = offset, time
        self.last_entry_position = offset.positions[-1] if offset.positions else 0
        if time.timestamps:
            self.max_timestamp = time.timestamps[-1]
            self.offset_of_max_timestamp = time.base_offset + time.offsets[-1]

    def close(self) -> None:
        """A segment that will not grow any more ends its time index with its largest timestamp."""
        self.time.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)

    def truncate(self, position: int, offset: int) -> None:
        """Forget batches at `position` and after. As in Kafka, the largest timestamp falls back to the last entry's."""
        self.offset.truncate_to_position(position)
        self.time.truncate_to_offset(offset)
        self.last_entry_position = min(self.last_entry_position, position)
        if self.offset_of_max_timestamp >= offset:
            timestamps, offsets = self.time.timestamps, self.time.offsets
            self.max_timestamp = timestamps[-1] if timestamps else NO_TIMESTAMP
            self.offset_of_max_timestamp = offsets[-1] + self.base_offset if offsets else -1
