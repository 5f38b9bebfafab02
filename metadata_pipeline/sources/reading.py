"""Files into Arrow batches of the two schemas, without Spark.

    for batch in read_records(["/var/lib/kafka/metadata"], ReadOptions(from_offset=1000)):
        ...

`read_range` is the unit of work: one file, or a part of it that begins at a batch. Batches come in the order of the
file and are small (a chunk of the file each); nothing is kept. Whatever is wrong is a row with a fault; only a path
under which there is nothing raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metadata_pipeline.schemas import Level
from metadata_pipeline.sources.batch_rows import batch_table, flaw_table
from metadata_pipeline.sources.chunks import Flaw, Piece, pieces
from metadata_pipeline.sources.faults import Fault, ListingError
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.headers import checksums, faults_of, read_headers
from metadata_pipeline.sources.offsets import OffsetCheck
from metadata_pipeline.sources.options import ReadOptions, bounds
from metadata_pipeline.sources.piece import Batches, together
from metadata_pipeline.sources.record_rows import record_tables
from metadata_pipeline.sources.segments import Listing, Problem, Segment, list_segments
from metadata_pipeline.sources.store import BEHIND


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of a segment: bytes `start` to `end`, `start` being where a batch begins."""

    segment: Segment
    start: int
    end: int

    @classmethod
    def whole(cls, segment: Segment) -> FileRange:
        return cls(segment, 0, segment.size)


def read_records(
    paths: Iterable[str] | str, options: ReadOptions | None = None, *, filesystem: Any = None
) -> Iterator[pa.RecordBatch]:
    """Every record below the paths. Raises ListingError at the first step when there is nothing."""
    return read("records", paths, options, filesystem=filesystem)


def read_batches(
    paths: Iterable[str] | str, options: ReadOptions | None = None, *, filesystem: Any = None
) -> Iterator[pa.RecordBatch]:
    """Every batch below the paths, without decoding records."""
    return read("batches", paths, options, filesystem=filesystem)


def read(
    level: Level, paths: Iterable[str] | str, options: ReadOptions | None = None, *, filesystem: Any = None
) -> Iterator[pa.RecordBatch]:
    options = options or ReadOptions()
    listing = list_segments(paths, filesystem=filesystem, clusters=options.clusters, kinds=options.kinds)
    yield from problem_rows(level, listing.problems, options)
    parts = (FileRange.whole(segment) for segment in chosen(listing, options))
    yield from read_ranges(level, parts, options, filesystem=filesystem)


def chosen(listing: Listing, options: ReadOptions) -> Iterator[Segment]:
    """The segments that may hold what was asked for, judged by their names alone."""
    for directory in listing.directories:
        logs = [segment for segment in directory.segments if segment.kind == "log"]
        ends = {each.file: after.base_offset for each, after in pairwise(logs)}
        for segment in directory.segments:
            if segment.kind not in options.kinds or not _snapshot_fits(segment, options):
                continue
            if segment.kind == "log":
                if options.to_offset is not None and segment.base_offset >= options.to_offset:
                    continue
                if (
                    options.from_offset is not None
                    and ends.get(segment.file, options.from_offset + 1) <= options.from_offset
                ):
                    continue
            yield segment


def _snapshot_fits(segment: Segment, options: ReadOptions) -> bool:
    end = segment.snapshot_offset
    if end is None:
        return True
    below = options.to_offset is not None and end > options.to_offset
    return not below and not (options.from_offset is not None and end < options.from_offset)


def problem_rows(level: Level, problems: Iterable[Problem], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The paths that could not be listed, as rows."""
    for problem in problems:
        segment = Segment(problem.path, "log", 0)
        yield flaw_table(level, segment, Flaw(0, 0, problem.fault, problem.detail), options)


def read_range(
    level: Level, part: FileRange, options: ReadOptions, *, filesystem: Any = None
) -> Iterator[pa.RecordBatch]:
    """The rows of one file or of a part of it. Never raises for what is in the file or happens to it."""
    yield from read_ranges(level, (part,), options, filesystem=filesystem)


def read_ranges(
    level: Level, parts: Iterable[FileRange], options: ReadOptions, *, filesystem: Any = None
) -> Iterator[pa.RecordBatch]:
    """The rows of several files, in their order. Small files are decoded together, a chunk's worth at a time."""
    gathered: list[Batches] = []
    size = 0
    for part in parts:
        for found in _judged(part, options, filesystem):
            if isinstance(found, Batches) and (not gathered or gathered[0].is_log == found.is_log):
                gathered.append(found)
                size += len(found.raw)
                if size < options.chunk_bytes:
                    continue
                found, gathered[:], size = together(gathered), [], 0
                yield from _tables(level, found, options)
                continue
            if gathered:
                yield from _tables(level, together(gathered), options)
                gathered, size = [], 0
            if isinstance(found, Flaw):
                yield flaw_table(level, part.segment, found, options)
            else:
                gathered, size = [found], len(found.raw)
    if gathered:
        yield from _tables(level, together(gathered), options)


def _tables(level: Level, batches: Batches, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    if level == "batches":
        yield batch_table(batches, options)
    else:
        yield from record_tables(batches, options)


def _judged(part: FileRange, options: ReadOptions, filesystem: Any) -> Iterator[Batches | Flaw]:
    """The batches of a file that may hold something asked for, and what is no batch."""
    segment = part.segment
    if segment.size == 0:
        yield Flaw(0, 0, Fault.EMPTY, "the file is empty")
        return
    try:
        file = OpenFile(segment.file, filesystem)
    except (OSError, ValueError) as error:
        why = f"cannot be opened: {str(error).partition('. Detail:')[0]}"
        yield Flaw(part.start, part.end - part.start, Fault.UNREADABLE, why)
        return
    lowest, below = bounds(options, log=segment.kind == "log")
    with file:
        check = OffsetCheck(segment.base_offset if part.start == 0 else None)
        for found in pieces(file, part.start, part.end, options.chunk_bytes):
            match found:
                case Flaw():
                    check.lost()
                    yield found
                case Piece():
                    batches = _judge(segment, found, check)
                    if lowest is not None or below is not None or options.from_time_ms is not None:
                        batches = batches.kept(_wanted(batches, lowest, below, options.from_time_ms))
                    if len(batches):
                        yield batches


def _judge(segment: Segment, piece: Piece, check: OffsetCheck) -> Batches:
    """All that headers, checksums and the order of offsets tell."""
    starts = np.array(piece.starts, np.int64)
    raw = piece.data if len(piece.data) - piece.end >= BEHIND else piece.data + bytes(BEHIND)
    headers = read_headers(np.frombuffer(raw, np.uint8), starts)
    sizes = np.diff(np.append(starts, piece.end))
    crcs = checksums(piece.data, starts, sizes)
    faults = faults_of(headers, crcs)
    expected, odd = check.step(headers, _without(faults))
    for index in np.flatnonzero(odd).tolist():
        base = int(headers[index]["base_offset"])
        faults[index] = (Fault.OFFSET, f"base offset {base}, {int(expected[index])} is where the batch before it ended")
    owner = np.zeros(len(starts), np.int64)
    return Batches(
        (segment,),
        raw,
        headers=headers,
        owner=owner,
        starts=starts,
        places=starts + piece.position,
        sizes=sizes,
        crcs=crcs,
        expected=expected,
        faults=faults,
    )


def _wanted(batches: Batches, lowest: int | None, below: int | None, from_time_ms: int | None) -> Any:
    """Batches that may hold a wanted record. One with a fault is kept: nobody knows what it holds."""
    keep = np.ones(len(batches), np.bool_)
    bases = batches.headers["base_offset"].astype(np.int64)
    if lowest is not None:
        keep &= bases + batches.headers["last_offset_delta"] >= lowest
    if below is not None:
        keep &= bases < below
    if from_time_ms is not None:
        keep &= batches.headers["max_timestamp"] >= from_time_ms
    return keep | ~_without(batches.faults)


def _without(faults: list[tuple[Fault, str] | None]) -> npt.NDArray[np.bool_]:
    """Which of them are none."""
    return np.array([fault is None for fault in faults], np.bool_) if any(faults) else np.ones(len(faults), np.bool_)


__all__ = [
    "FileRange", "ListingError", "chosen", "problem_rows", "read", "read_batches", "read_range", "read_ranges",
    "read_records",
]  # fmt: skip
