"""A range of a file as pieces of whole batches, in bounded memory, and whatever ends the range before its end.

A piece is at most a chunk, or one batch that is larger than a chunk. A batch beyond `LARGEST_BATCH` is not held: its
checksum is computed in passing and a fault says that it was not decoded. A file that became shorter, a torn tail, a
length that cannot be are faults with their place; nothing is raised but what opening the file raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.headers import Stop, hop

LARGEST_BATCH: Final = 64 << 20
"""Kafka writes at most 8 MiB into a batch of the metadata log."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole batches: their bytes, where in the file they begin, and where in the bytes each begins. All lie below `end`
    of the bytes.
    """

    position: int
    data: bytes
    starts: list[int]
    end: int


@dataclass(frozen=True, slots=True)
class Flaw:
    """A stretch of the file that holds no batch to decode."""

    position: int
    size: int
    fault: Fault
    detail: str


def pieces(file: OpenFile, start: int, end: int, chunk_bytes: int) -> Iterator[Piece | Flaw]:
    """What lies between two positions; `start` is where a batch begins."""
    position, want = start, chunk_bytes
    while position < end:
        asked = min(want, end - position)
        try:
            data = file.read_at(position, asked)
        except OSError as error:
            yield Flaw(
                position,
                end - position,
                Fault.UNREADABLE,
                f"reading failed: {error.strerror or 'the file system refused'}",
            )
            return
        if len(data) < asked:
            shrunk = Flaw(
                position + len(data),
                end - position - len(data),
                Fault.SHRUNK,
                "the file became shorter while it was read",
            )
            yield from _rest(data, position)
            yield shrunk
            return
        starts, stop = hop(data)
        if starts:
            yield Piece(position, data, starts, stop.position)
        position += stop.position
        want = chunk_bytes
        if stop.fault is not None:
            yield _lost(file, position, end, stop)
            return
        if not starts:
            left = end - position
            if stop.needed > left:
                yield Flaw(
                    position,
                    left,
                    Fault.TORN,
                    f"{left} bytes of a batch of {stop.needed}" if left >= 12 else f"{left} bytes",
                )
                return
            if stop.needed > LARGEST_BATCH:
                why = f"a batch of {stop.needed} bytes is larger than the {LARGEST_BATCH} that are decoded"
                yield Flaw(position, stop.needed, Fault.LENGTH, why)
                position += stop.needed
            else:
                want = stop.needed


def _rest(data: bytes, position: int) -> Iterator[Piece]:
    """The whole batches that were still there."""
    starts, stop = hop(data)
    if starts:
        yield Piece(position, data, starts, stop.position)


def _lost(file: OpenFile, position: int, end: int, stop: Stop) -> Flaw:
    """Behind an impossible length nothing can be found. Zeros to the end are told apart: space that was allocated in
    advance.
    """
    assert stop.fault is not None, "only a fault loses the rest"
    if _all_zeros(file, position, end):
        return Flaw(position, end - position, Fault.ZEROS, f"{end - position} bytes of zeros to the end")
    return Flaw(position, end - position, stop.fault, f"{stop.detail}; {end - position} bytes cannot be read")


def _all_zeros(file: OpenFile, position: int, end: int) -> bool:
    step = 1 << 20
    try:
        while position < end:
            data = file.read_at(position, min(step, end - position))
            if not data or data.count(0) != len(data):
                return False
            position += len(data)
    except OSError:
        return False
    return True
