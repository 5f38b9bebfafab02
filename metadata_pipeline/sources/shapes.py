"""Records whose bytes are laid out alike, decoded by slicing instead of walking.

In a log most records of a type are one of few shapes: three replicas, no rack, one tag. In a shape every field lies at
the same place, and the bytes that make it so (lengths, numbers of tags, tags and their sizes) are the same. So the
records of one size are gathered as rows of a matrix, once, for all that is wanted of them; those of shapes that were
met before are taken; then one is walked and those with its structural bytes are taken with it. What is left goes the
general way, as does every record that is not plain: a shape is only made of a record in which nothing is odd, and texts
are sliced only where they are ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from controller_runtime.protocol.primitives import Invalid, read_uvarint
from controller_runtime.protocol.schema import FIXED_SIZES
from metadata_pipeline.sources.arrays import Bytes, Ints
from metadata_pipeline.sources.layouts import ELEMENTS, FORMATS, FieldStep, Nested, Part, Program, Values

WORTH: Final = 64
"""Fewer records of a size or of a shape are left to the general way."""
MOST_SHAPES: Final = 8
"""Shapes remembered for each type and size: those met last."""
LARGEST: Final = 1024
_WORD: Final = 8
_MOST_SIZES: Final = 512
_BYTE: Final = 256
_HEAD: Final = 3
"""Frame version, type and version of the record: one byte each, and the same in the whole group."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Which words have structural bytes, under which mask, and what those are; for every field where it lies and how
    long it is (-1: null).

    Absent tagged fields have no place.
    """

    words: tuple[tuple[int, np.uint64, np.uint64], ...]
    fields: tuple[tuple[FieldStep, int, int], ...]
    absent: tuple[FieldStep, ...]


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
    return Shape(_words(walk.structure, value), tuple(walk.fields), absent)


def _words(structure: list[int], value: bytes) -> tuple[tuple[int, np.uint64, np.uint64], ...]:
    """Eight bytes are compared at a time."""
    masks = bytearray(len(value) + -len(value) % _WORD)
    held = bytearray(len(masks))
    for place in structure:
        masks[place], held[place] = 0xFF, value[place]
    pairs = zip(np.frombuffer(masks, "<u8"), np.frombuffer(held, "<u8"), strict=True)
    return tuple((index, mask, same) for index, (mask, same) in enumerate(pairs) if mask)


_KNOWN: Final[dict[tuple[str, int, int], list[Shape]]] = {}
"""Shapes that were met, by type, version and size; they only save to look for them again."""


class _Walk:
    """A position in a record's bytes, and what was seen up to it."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.at = _HEAD
        self.structure: list[int] = []
        self.fields: list[tuple[FieldStep, int, int]] = []

    def structural(self) -> int:
        number, after = read_uvarint(self.value, self.at)
        self.structure += range(self.at, after)
        self.at = after
        return number

    def field(self, step: FieldStep) -> bool:
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
    for length, left in _by_size(size):
        width = length + -length % _WORD
        blocks = np.ndarray((max(0, len(data) - width + 1),), f"V{width}", data, strides=(1,))
        rows = blocks[start[left]]
        known = _known(program, length)
        met = list(known)
        for turn in range(2 * MOST_SHAPES):
            if len(left) < WORTH:
                break
            shape = met[turn] if turn < len(met) else shape_of(program, rows[0].tobytes()[:length])
            if shape is None:
                break
            (mine, taken), (rows, left) = _apart(shape, rows, left)
            if len(taken):
                _remember(known, shape)
            if len(taken) >= WORTH or not len(left):
                yield from _columns(shape, mine, taken, start, wanted)


def _by_size(size: Ints) -> Iterator[tuple[int, Ints]]:
    """The sizes that many records have, and which these are."""
    sizes = np.minimum(size, LARGEST).astype(np.uint16)
    counts = np.bincount(sizes)
    common = [each for each in np.flatnonzero(counts >= WORTH).tolist() if _HEAD < each < LARGEST]
    if len(common) == 1 and counts[common[0]] == len(sizes):
        yield common[0], np.arange(len(sizes))
        return
    order = np.argsort(sizes.astype(np.uint8) if len(counts) <= _BYTE else sizes, kind="stable")
    ends = np.cumsum(counts)
    for length in common:
        yield length, order[ends[length] - counts[length] : ends[length]]


def _apart(shape: Shape, rows: Any, left: Ints) -> tuple[tuple[Any, Ints], tuple[Any, Ints]]:
    """The rows that have the shape, and the others."""
    words = rows.view(np.uint64).reshape(len(rows), -1)
    alike: Any = True
    for index, mask, held in shape.words:
        alike = ((words[:, index] & mask) == held) & alike
    others = np.flatnonzero(~alike)
    if not len(others):
        return (rows, left), (rows[:0], left[:0])
    if len(others) == len(left):
        return (rows[:0], left[:0]), (rows, left)
    chosen = np.flatnonzero(alike)
    return (rows[chosen], left[chosen]), (rows[others], left[others])


def _known(program: Program, length: int) -> list[Shape]:
    if len(_KNOWN) >= _MOST_SIZES:
        _KNOWN.clear()
    return _KNOWN.setdefault((program.name, program.version, length), [])


def _remember(known: list[Shape], shape: Shape) -> None:
    """As the one met last."""
    if shape in known:
        known.remove(shape)
    known.insert(0, shape)
    del known[MOST_SHAPES:]


def _columns(
    shape: Shape, rows: Any, taken: Ints, start: Ints, wanted: frozenset[str]
) -> Iterator[tuple[Ints, list[Part]]]:
    plain: Any = None
    for step, at, size in shape.fields:
        if step.kind == "string" and size > 0:
            ascii_ = _ascii(rows, at, size)
            plain = ascii_ if plain is None else plain & ascii_
    if plain is not None and not plain.all():
        chosen = np.flatnonzero(plain)
        rows, taken = rows[chosen], taken[chosen]
        if not len(taken):
            return
    begin = start[taken]
    bad = np.zeros(len(taken), np.bool_)
    parts = []
    for step, at, size in shape.fields:
        if step.column in wanted or step.flag:
            parts.append(Part(str(step.column), None, _values(step, rows, begin, at=at, size=size, bad=bad)))
    for step in shape.absent:
        if step.column in wanted and (values := step.absent(len(taken))) is not None:
            parts.append(Part(str(step.column), None, values))
    if not bad.any():
        yield taken, [part for part in parts if part.column in wanted]


def _ascii(rows: Any, at: int, size: int) -> Any:
    """The rows whose bytes from `at` on are all below 128."""
    letters = rows.view(np.uint8).reshape(len(rows), -1)[:, at : at + size]
    return letters.max(axis=1) < 128


def _values(step: FieldStep, rows: Any, begin: Ints, at: int, size: int, bad: Any) -> Values:
    if step.sized and not (step.array and size > 0):
        return Values(begin + at, size)
    if step.array:
        return Values(None, size, None, _taken(rows, f"V{size * ELEMENTS[step.kind]}", at))
    if step.kind == "uuid":
        return Values(None, None, None, _taken(rows, "V16", at))
    form = np.dtype(FORMATS[step.kind])
    return step.number(_taken(rows, form, at).astype(form.newbyteorder("=")), bad)


def _taken(rows: Any, form: Any, at: int) -> Any:
    """What lies at the same place of every row."""
    return np.ndarray((len(rows),), form, rows, offset=at, strides=rows.strides)
