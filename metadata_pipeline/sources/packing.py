"""Files into tasks: small files together, large ones cut at a batch.

A task costs a Python worker some 25 ms, so thousands of small files are packed, in their order, until a task has enough
bytes. Only a file beyond `SPLIT_OVER` is cut: at positions that its index names, each checked against the batch that
should begin there. An index is a hint; when it is missing or wrong, the file stays whole.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from controller_runtime.protocol.record_batch import HEADER_BYTES, LENGTH_END, CorruptBatch, read_header, verify_crc
from metadata_pipeline.sources.chunks import LARGEST_BATCH
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.reading import FileRange
from metadata_pipeline.sources.segments import Segment

TASK_BYTES: Final = 64 << 20
SMALLEST_TASK: Final = 4 << 20
TASKS_WANTED: Final = 8
"""With less than that many full tasks the tasks are made smaller: a laptop has cores to keep busy, too."""
SPLIT_OVER: Final = 128 << 20
OPENING_BYTES: Final = 64 << 10
"""What opening a file costs, in bytes of decoding."""
_INDEX_ENTRY: Final = struct.Struct(">ii")
_INDEX_LIMIT: Final = 16 << 20

Task = tuple[FileRange, ...]


def pack(segments: Iterable[Segment], *, task_bytes: int | None = None, filesystem: Any = None) -> list[Task]:
    """Every byte of every segment in exactly one task."""
    ranges = [part for segment in segments for part in split(segment, filesystem=filesystem)]
    return pack_ranges(ranges, task_bytes=task_bytes)


def pack_ranges(ranges: Sequence[FileRange], *, task_bytes: int | None = None) -> list[Task]:
    """The ranges in their order, as few tasks as fill well."""
    total = sum(_cost(part) for part in ranges)
    target = task_bytes or min(TASK_BYTES, max(SMALLEST_TASK, total // TASKS_WANTED))
    tasks: list[Task] = []
    filling: list[FileRange] = []
    size = 0
    for part in ranges:
        if filling and size + _cost(part) > target:
            tasks.append(tuple(filling))
            filling, size = [], 0
        filling.append(part)
        size += _cost(part)
    if filling:
        tasks.append(tuple(filling))
    return tasks


def _cost(part: FileRange) -> int:
    return part.end - part.start + OPENING_BYTES


def split(
    segment: Segment, *, part_bytes: int = TASK_BYTES, over: int = SPLIT_OVER, filesystem: Any = None
) -> list[FileRange]:
    """The segment as one range, or as several that begin at batches."""
    if segment.kind != "log" or segment.size <= over:
        return [FileRange.whole(segment)]
    cuts = [0, *_confirmed(segment, part_bytes, filesystem), segment.size]
    return [FileRange(segment, start, end) for start, end in pairwise(cuts)]


def _confirmed(segment: Segment, part_bytes: int, filesystem: Any) -> list[int]:
    """Positions about `part_bytes` apart at which a batch with the right offset begins."""
    name, _, query = segment.file.partition("?")
    index = name.removesuffix(".log") + ".index" + (f"?{query}" if query else "")
    found: list[int] = []
    try:
        with OpenFile(index, filesystem) as file:
            entries = file.read_at(0, _INDEX_LIMIT)
        with OpenFile(segment.file, filesystem) as log:
            for relative, position in _INDEX_ENTRY.iter_unpack(entries[: len(entries) // 8 * 8]):
                if relative == 0 and position == 0:
                    break  # the rest was allocated in advance
                if position < (found[-1] if found else 0) + part_bytes or position > segment.size - part_bytes // 2:
                    continue
                if _begins_batch(log, position, segment.base_offset, segment.base_offset + relative):
                    found.append(position)
    except OSError:
        return []
    return found


def _begins_batch(log: OpenFile, position: int, lowest: int, highest: int) -> bool:
    """Whether a batch with a valid checksum and a base offset between the two begins there."""
    length = int.from_bytes(log.read_at(position + 8, 4), "big", signed=True)
    if not HEADER_BYTES <= length + LENGTH_END <= LARGEST_BATCH:
        return False
    data = log.read_at(position, length + LENGTH_END)
    try:
        header = read_header(data)
        verify_crc(data, header)
    except CorruptBatch:
        return False
    return lowest <= header.base_offset <= highest
