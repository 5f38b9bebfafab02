"""What is found on a disk after a stop of any kind, made a log again.

Explained, and mended: a torn tail (the last segment ends inside a batch, or in bytes that are no batch with no whole
batch after them), indexes of any content, leftovers of unfinished snapshots, snapshots older than the log's start, a
log that ends before its latest snapshot (a reset that a crash interrupted). Everything else is refused with the file
and the place: a hole between segments, a bad batch before good ones, offsets or epochs that go back, a start above zero
without a snapshot. Truncating there could forget what was acknowledged.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.storage import file_names
from controller_runtime.storage.batch_scan import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    BatchPlace,
    ScanEnd,
    checksum_holds,
    parse_batch,
    scan,
)
from controller_runtime.storage.disk_work import remove_files
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import File, FileSystem, join
from controller_runtime.storage.segment import Segment, write_index_entries
from controller_runtime.values import dataclass

_SEARCH_WINDOW: Final = 8 << 20
"""How far behind a bad batch a good one is looked for: more than any one append."""


@dataclass(slots=True)
class Recovered:
    """A scanned log directory."""

    segments: list[Segment]
    epoch_starts: list[tuple[Epoch, Offset]]
    torn_bytes: int = 0
    """How much of the last segment was cut."""


def remove_leftovers(filesystem: FileSystem, directory: str) -> None:
    """Delete what unfinished operations left: `.part`, `.deleted`, `.tmp`."""
    names = filesystem.list_directory(directory)
    remove_files(filesystem, directory, [n for n in names if file_names.is_leftover(n) or n.endswith(".tmp")])


def segment_offsets(filesystem: FileSystem, directory: str) -> list[Offset]:
    """Base offsets of the `.log` files, ascending. Index files without a log are removed."""
    names = filesystem.list_directory(directory)
    parsed = {name: place for name in names if (place := file_names.parse_segment_file(name))}
    bases = sorted(base for base, suffix in parsed.values() if suffix == file_names.LOG)
    indexes = {file_names.OFFSET_INDEX, file_names.TIME_INDEX}
    remove_files(filesystem, directory, [n for n, (base, s) in parsed.items() if s in indexes and base not in bases])
    return bases


def recover_segments(
    filesystem: FileSystem, directory: str, interval_bytes: int, *, contiguous: bool, repair: bool = True
) -> Recovered:
    """Scan every segment, cut a torn tail (with `repair`), and rebuild the index files. `contiguous`: offsets have no
    gaps.

    A killed process may leave bytes and names (also of `quorum-state`) that only the kernel's memory holds. What a
    recovery finds will be acted on, so it is made durable first: else a power loss could take back what was promised
    since.
    """
    bases = segment_offsets(filesystem, directory) if repair else _bases(filesystem, directory)
    recovered = Recovered([], [])
    for base in bases:
        if recovered.segments:
            _check_join(recovered.segments[-1], base, contiguous=contiguous)
        segment = Segment(directory, base, interval_bytes=interval_bytes)
        segment.file = filesystem.open(segment.path, write=repair)
        _scan_segment(segment, recovered, last=base == bases[-1], contiguous=contiguous)
        if repair:
            if segment.file.size() > segment.size:
                segment.file.truncate(segment.size)
            if base == bases[-1]:  # The others were synced before the next one was made.
                segment.file.fdatasync()
            write_indexes_anew(filesystem, segment, closed=base != bases[-1])
        recovered.segments.append(segment)
    if repair:
        filesystem.sync_directory(directory)
    return recovered


def write_indexes_anew(filesystem: FileSystem, segment: Segment, *, closed: bool) -> None:
    """Replace both index files by what the scan found."""
    if closed:
        segment.indexes.close()
    for path, position, data in segment.new_index_entries(anew=True):
        write_index_entries(filesystem, path, position, data)


def frozen_snapshots(filesystem: FileSystem, directory: str) -> list[OffsetAndEpoch]:
    """Ids of the frozen snapshots, ascending by offset, then epoch."""
    found = (file_names.parse_snapshot_file(name) for name in filesystem.list_directory(directory))
    return sorted(snapshot for snapshot in found if snapshot is not None)


def check_snapshot(filesystem: FileSystem, path: str) -> None:
    """Raise `CorruptFile` unless the snapshot is whole: only then may a log be given up for it."""
    file = filesystem.open(path, write=False)
    first = last = None
    try:
        for item in scan(file):
            if isinstance(item, ScanEnd):
                raise CorruptFile(path, item.reason, item.position)
            first, last = first or item, item
    finally:
        file.close()
    if first is None or last is None or first is last or not (first.is_control and last.is_control):
        raise CorruptFile(path, "a snapshot begins with its header and ends with its footer")


def _bases(filesystem: FileSystem, directory: str) -> list[Offset]:
    parsed = (file_names.parse_segment_file(name) for name in filesystem.list_directory(directory))
    return sorted(place[0] for place in parsed if place is not None and place[1] == file_names.LOG)


def _check_join(before: Segment, base: int, *, contiguous: bool) -> None:
    if before.end_offset > base or (contiguous and before.end_offset != base):
        raise CorruptFile(
            before.path, f"ends at offset {before.end_offset}, the next segment begins at {base}", before.size
        )


def _scan_segment(segment: Segment, recovered: Recovered, *, last: bool, contiguous: bool) -> None:
    assert segment.file is not None, "recovery opens each segment first"
    for item in scan(segment.file):
        if isinstance(item, ScanEnd):
            _judge_tail(segment, segment.file, item, last=last)
            recovered.torn_bytes = segment.file.size() - item.position
            return
        _check_order(segment, recovered, item, contiguous=contiguous)
        if not recovered.epoch_starts or item.epoch > recovered.epoch_starts[-1][0]:
            recovered.epoch_starts.append((Epoch(item.epoch), Offset(item.base_offset)))
        segment.add(item)


def _check_order(segment: Segment, recovered: Recovered, batch: BatchPlace, *, contiguous: bool) -> None:
    expected = segment.end_offset
    if batch.base_offset < expected or (contiguous and batch.base_offset != expected):
        raise CorruptFile(
            segment.path, f"a batch with offset {batch.base_offset} where {expected} is due", batch.position
        )
    if recovered.epoch_starts and batch.epoch < recovered.epoch_starts[-1][0]:
        reason = f"epoch {batch.epoch} at offset {batch.base_offset} after epoch {recovered.epoch_starts[-1][0]}"
        raise CorruptFile(segment.path, reason, batch.position)


def _judge_tail(segment: Segment, file: File, stop: ScanEnd, *, last: bool) -> None:
    """Return if a crash during the last append explains the bytes from here on, else raise."""
    if not last:
        raise CorruptFile(segment.path, f"{stop.reason}, and later segments follow", stop.position)
    if (found := _batch_after(file, stop.position, segment.end_offset)) is not None:
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
        if len(data) - start >= HEADER_SIZE:
            place = parse_batch(data, start, position + start)
            if not isinstance(place, str) and place.base_offset >= expected_offset:
                end = start + place.size
                if end <= len(data) and place.size > LENGTH_PREFIX and checksum_holds(memoryview(data)[start:end]):
                    return position + start
        at = data.find(b"\x02", at + 1)
    return None


def check_snapshot_covers(directory: str, start: int, snapshots: list[OffsetAndEpoch]) -> None:
    """A log that starts above zero needs a snapshot of what is missing."""
    if start > 0 and not any(snapshot.offset >= start for snapshot in snapshots):
        raise CorruptFile(
            join(directory, ""), f"the log starts at offset {start} and no snapshot covers what is missing"
        )
