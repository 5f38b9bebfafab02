"""How far a growing log was read, and what is new: for streams that look again and again at the same directories.

A mark in a file is the position behind the last batch read and that batch's own place, checksum and epoch. With it,
three things are told apart when the file is looked at again: it grew; it became shorter (a follower truncated its
tail); its tail was replaced by another one, and it may even be longer now. The last two are events, rows of their own.
A truncated file is read on from its new end; of a replaced tail nobody can say where it begins, so the file is read
again from its start, and `round` counts how often. Marks are plain text, because a stream's checkpoint holds them. Only
whole batches count: a torn tail is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from controller_runtime.protocol.record_batch import HEADER_BYTES, CorruptBatch, read_header
from metadata_pipeline.sources.chunks import Flaw, Piece, pieces
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.options import CHUNK_BYTES
from metadata_pipeline.sources.reading import FileRange
from metadata_pipeline.sources.segments import Segment

_WAITED_FOR: Final = frozenset((Fault.TORN, Fault.ZEROS, Fault.SHRUNK, Fault.UNREADABLE))
"""What may be whole the next time."""
_NO_BATCH: Final = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything below `position` was read; the last batch of it begins at `tail`."""

    position: int = 0
    tail: int = _NO_BATCH
    crc: int = 0
    epoch: int = 0
    round: int = 0

    def __str__(self) -> str:
        return f"{self.position}/{self.tail}/{self.crc}/{self.epoch}/{self.round}"

    @classmethod
    def parse(cls, text: str) -> Mark:
        return cls(*(int(part) for part in text.split("/")))


Marks = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Limit:
    """How much may be new at once; None is everything. One batch is always let through."""

    size: int | None = None
    files: int | None = None
    rows: int | None = None


@dataclass(slots=True)
class _Budget:
    limit: Limit
    size: int = 0
    files: int = 0
    rows: int = 0

    @property
    def spent(self) -> bool:
        limit = self.limit
        return (
            (limit.size is not None and self.size >= limit.size)
            or (limit.files is not None and self.files >= limit.files)
            or (limit.rows is not None and self.rows >= limit.rows)
        )

    def allows(self, size: int, rows: int) -> bool:
        if self.size == 0 and self.rows == 0:
            return True
        limit = self.limit
        return (limit.size is None or self.size + size <= limit.size) and (
            limit.rows is None or self.rows + rows <= limit.rows
        )


def advance(
    segments: Iterable[Segment],
    marks: Marks,
    limit: Limit,
    *,
    ends: Mapping[str, int] | None = None,
    filesystem: Any = None,
) -> dict[str, str]:
    """The marks after the next portion. Files that are gone are forgotten; `ends` says how far a file may be read at
    most.
    """
    budget = _Budget(limit)
    found: dict[str, str] = {}
    for segment in segments:
        mark = Mark.parse(marks[segment.file]) if segment.file in marks else Mark()
        if ends is not None:
            segment = replace(segment, size=min(segment.size, ends.get(segment.file, 0)))
        moved = mark if budget.spent else _advance(segment, mark, budget, filesystem)
        if moved != mark:
            budget.files += 1
        if moved != mark or segment.file in marks:
            found[segment.file] = str(moved)
    return found


def _advance(segment: Segment, mark: Mark, budget: _Budget, filesystem: Any) -> Mark:
    try:
        with OpenFile(segment.file, filesystem) as file:
            if segment.size < mark.position:
                return _walk(file, Mark(round=mark.round), segment.size, _Budget(Limit()))
            if not _still_there(file, mark):
                mark = Mark(round=mark.round + 1)
            return _walk(file, mark, segment.size, budget)
    except OSError:
        return mark


def _still_there(file: OpenFile, mark: Mark) -> bool:
    """Whether the last batch read is what it was."""
    if mark.tail == _NO_BATCH:
        return True
    try:
        header = read_header(file.read_at(mark.tail, mark.position - mark.tail))
    except CorruptBatch:
        return False
    return (header.crc, header.partition_leader_epoch) == (
        mark.crc,
        mark.epoch,
    ) and mark.tail + header.size_in_bytes == mark.position


def _walk(file: OpenFile, mark: Mark, end: int, budget: _Budget) -> Mark:
    """As far as whole batches and the budget go."""
    for found in pieces(file, mark.position, end, CHUNK_BYTES):
        match found:
            case Flaw():
                return (
                    mark
                    if found.fault in _WAITED_FOR
                    else replace(mark, position=found.position + found.size, tail=_NO_BATCH)
                )
            case Piece():
                for start, stop in zip(found.starts, [*found.starts[1:], found.end], strict=True):
                    data = found.data[start : min(stop, start + HEADER_BYTES)]
                    rows = int.from_bytes(data[57:61], "big") if len(data) == HEADER_BYTES else 1
                    if not budget.allows(stop - start, rows):
                        return mark
                    budget.size += stop - start
                    budget.rows += rows
                    crc, epoch = int.from_bytes(data[17:21], "big"), int.from_bytes(data[12:16], "big", signed=True)
                    mark = Mark(found.position + stop, found.position + start, crc, epoch, mark.round)
    return mark


Event = tuple[Segment, Flaw]
"""Something that happened to a file, as a row of it."""


def between(segments: Iterable[Segment], start: Marks, end: Marks) -> tuple[list[FileRange], list[Event]]:
    """What lies between two marks: ranges of files to read, and events to tell."""
    ranges: list[FileRange] = []
    events: list[Event] = []
    here = {segment.file: segment for segment in segments}
    for file, text in end.items():
        before = Mark.parse(start[file]) if file in start else Mark()
        after = Mark.parse(text)
        if before == after:
            continue
        segment = here.get(file)
        if segment is None:
            gone = Flaw(
                before.position,
                after.position - before.position,
                Fault.UNREADABLE,
                "the file is gone before it was read",
            )
            events.append((Segment(file, "log", 0), gone))
            continue
        first = before.position
        if after.round != before.round:
            why = f"the batch at byte {before.tail} was replaced by another: the file is read again from its start"
            events.append((segment, Flaw(before.tail, 0, Fault.SHRUNK, why)))
            first = 0
        elif after.position < before.position:
            first = after.position
            why = f"truncated from {before.position} to {first} bytes"
            events.append((segment, Flaw(first, before.position - first, Fault.SHRUNK, why)))
        if first < after.position:
            ranges.append(FileRange(segment, first, after.position))
    return ranges, events
