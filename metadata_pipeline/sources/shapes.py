"""Records whose bytes are laid out alike, decoded by slicing instead of walking.

In a log most records of a type are one of few shapes: three replicas, no rack, one tag. In a shape every field lies at the same place, and the
bytes that make it so (lengths, numbers of tags, tags and their sizes) are the same. So the records of one size are gathered as rows of a matrix,
one of them is walked, those with the same structural bytes are taken with it, then another one is walked. What is left goes the general way, as does
every record that is not plain: a shape is only made of a record in which nothing is odd, and texts are sliced only where they are ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from controller_runtime.protocol.primitives import Invalid, read_uvarint
from controller_runtime.protocol.schema import FIXED_SIZES
from metadata_pipeline.sources.headers import Bytes, Ints
from metadata_pipeline.sources.layouts import ELEMENTS, FORMATS, Nested, Part, Program, Step, Values

WORTH: Final = 64
"""Fewer records of a size or of a shape are left to the general way."""
MOST_SHAPES: Final = 8
"""Shapes tried for each size."""
LARGEST: Final = 1024
_WORD: Final = 8
_HEAD: Final = 3
"""Frame version, type and version of the record: one byte each, and the same in the whole group."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Which bytes make the shape, and for every field where it lies and how long it is (-1: null). Absent tagged fields have no place."""

    structure: tuple[int, ...]
    fields: tuple[tuple[Step, int, int], ...]
    absent: tuple[Step, ...]


def shape_of(program: Program, value: bytes) -> Shape | None:
    """The shape of one record; None when it is not plain."""
    walk = _Walk(value)
    try:
        for step in program.steps:
            if isinstance(step, Nested) or not walk.field(step):
                return None
        before, seen = -1, set()
        for _ in range(walk.structural()):
            tag, size = walk.structural(), walk.structural()
            end = walk.at + size
            if tag <= before or tag not in program.tagged or not walk.field(program.tagged[tag]) or walk.at != end:
                return None
            before = tag
            seen.add(tag)
    except (IndexError, Invalid):
        return None
    if walk.at != len(value):
        return None
    absent = tuple(step for tag, step in program.tagged.items() if tag not in seen)
    return Shape(tuple(walk.structure), tuple(walk.fields), absent)


class _Walk:
    """A position in a record's bytes, and what was seen up to it."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.at = _HEAD
        self.structure: list[int] = []
        self.fields: list[tuple[Step, int, int]] = []

    def structural(self) -> int:
        number, after = read_uvarint(self.value, self.at)
        self.structure += range(self.at, after)
        self.at = after
        return number

    def field(self, step: Step) -> bool:
        """Step over a field; whether it is one that the layout allows."""
        size = 0
        if step.sized:
            size = self.structural() - 1
            if size < 0 and not step.nullable:
                return False
        self.fields.append((step, self.at, size))
        self.at += max(size, 0) * ELEMENTS.get(step.kind, 1) if step.sized else FIXED_SIZES[step.kind]
        return self.at <= len(self.value)


def shaped(
    program: Program, data: Bytes, start: Ints, size: Ints, wanted: frozenset[str]
) -> Iterator[tuple[Ints, list[Part]]]:
    """Which of the records (by their index) have a common shape, and their columns; each record at most once."""
    counts = np.bincount(np.minimum(size, LARGEST))
    for length in np.flatnonzero(counts >= WORTH).tolist():
        if not _HEAD < length < LARGEST:
            continue
        left = np.flatnonzero(size == length)
        width = length + -length % _WORD
        blocks = np.ndarray((max(0, len(data) - width + 1),), f"V{width}", data, strides=(1,))
        rows = blocks[start[left]].view(np.uint8).reshape(-1, width)
        for _ in range(MOST_SHAPES):
            if len(left) < WORTH:
                break
            shape = shape_of(program, rows[0, :length].tobytes())
            if shape is None:
                break
            alike = _alike(shape, rows)
            whole = bool(alike.all())
            some = rows if whole else rows[alike]
            taken = left if whole else left[alike]
            if len(taken) >= WORTH or whole:
                yield from _columns(shape, some, taken, start, wanted)
            if whole:
                break
            rows, left = rows[~alike], left[~alike]


def _alike(shape: Shape, rows: Bytes) -> Any:
    """The rows whose structural bytes are those of the first, compared eight at a time."""
    words = rows.view(np.uint64)
    alike: Any = None
    for index, mask in _masks(shape.structure):
        same = ((words[:, index] ^ words[0, index]) & mask) == 0
        alike = same if alike is None else alike & same
    return alike


@lru_cache(maxsize=256)
def _masks(structure: tuple[int, ...]) -> tuple[tuple[int, np.uint64], ...]:
    """The words that hold structural bytes, and which bits of them those are."""
    masks: dict[int, int] = {}
    for place in structure:
        masks[place // _WORD] = masks.get(place // _WORD, 0) | 0xFF << 8 * (place % _WORD)
    return tuple((index, np.uint64(mask)) for index, mask in masks.items())


def _columns(
    shape: Shape, rows: Bytes, taken: Ints, start: Ints, wanted: frozenset[str]
) -> Iterator[tuple[Ints, list[Part]]]:
    plain: Any = None
    for step, at, size in shape.fields:
        if step.kind == "string" and size > 0:
            ascii_ = rows[:, at : at + size].max(axis=1) < 128
            plain = ascii_ if plain is None else plain & ascii_
    if plain is not None and not plain.all():
        rows, taken = rows[plain], taken[plain]
        if not len(taken):
            return
    begin = start[taken]
    bad = np.zeros(len(taken), np.bool_)
    parts = []
    for step, at, size in shape.fields:
        if step.column in wanted or step.flag:
            parts.append(Part(str(step.column), None, _values(step, rows, begin, at, size, bad)))
    for step in shape.absent:
        if step.column in wanted and (values := step.absent(len(taken))) is not None:
            parts.append(Part(str(step.column), None, values))
    if not bad.any():
        yield taken, [part for part in parts if part.column in wanted]


def _values(step: Step, rows: Bytes, begin: Ints, at: int, size: int, bad: Any) -> Values:
    if step.sized:
        return Values(begin + at, size)
    if step.kind == "uuid":
        return Values(begin + at)
    form = FORMATS[step.kind]
    column = np.ndarray((len(rows),), form, rows, offset=at, strides=(rows.shape[1],))
    return step.number(column, bad)
