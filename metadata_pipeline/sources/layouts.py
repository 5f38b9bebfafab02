"""The project's message definitions, compiled to decoders that read one field of many records at a time.

`program(cls, version)` turns the fields of a record class into steps: each takes where the records' bytes go on, gives
the field as a column and the positions behind it. Tagged fields are read in rounds, the j-th tag of every record
together. A record whose bytes are not plainly what the layout says (a null where none may be, a tag unknown or out of
order, bytes left over, text that is no UTF-8) is marked bad and left to `describe`; so a program only has to be right
about good records, and a test compares the two for all of them. Lists of structures are stepped over level by level,
the j-th element of every record together. What has no column is known by its place: JSON is made once for each
different stretch of bytes (see `aside`). There is no program for records with a secret in every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from controller_runtime.metadata.records import record_class
from controller_runtime.protocol.schema import FIXED_SIZES, FieldSpec, Message
from metadata_pipeline.redaction import SECRET_FIELDS
from metadata_pipeline.schemas import FIELD_COLUMNS, FLAG_CHANGES, NO_CHANGE
from metadata_pipeline.sources.arrays import Bytes, Ints
from metadata_pipeline.sources.lockstep import Bools, pairs_of, uvarints

FORMATS: Final = {
    "int8": "i1", "int16": ">i2", "uint16": ">u2", "int32": ">i4", "int64": ">i8", "float64": ">f8", "bool": "u1"
}  # fmt: skip
_HIGHEST_TAG: Final = 255
_MOST_ELEMENTS: Final = 64
"""Records with more structures in a list are left to the slow way: a round for each would cost more."""
ELEMENTS: Final = {"int32": 4, "uuid": 16}


@dataclass(slots=True)
class Values:
    """A column over the records of a group. Numbers: `data`. Texts, uuids and lists: `data` is where they begin, `size`
    how long or how many.

    Uuids and lists of records that are laid out alike may have been taken from the buffer: then `block` is their bytes,
    a void number for each record, and `data` tells nothing.
    """

    data: Any
    size: Any = None
    valid: Any = None
    block: Any = None


@dataclass(frozen=True, slots=True)
class FieldStep:
    """One field: how it is read, and where it goes."""

    name: str
    kind: str
    array: bool
    nullable: bool
    column: str | None
    default: Any
    unchanged: int | None
    flag: bool

    @property
    def sized(self) -> bool:
        """Whether a length stands in front of it."""
        return self.array or self.kind in ("string", "bytes")

    def read(self, data: Bytes, at: Ints, end: Ints, bad: Bools) -> tuple[Values, Ints]:
        """The field at each position and the positions behind; `bad` collects the records that do not fit."""
        if self.array:
            return self._sized(data, at, end, bad, ELEMENTS[self.kind])
        if self.kind in ("string", "bytes"):
            return self._sized(data, at, end, bad, 1)
        if self.kind == "uuid":
            return Values(at), at + 16
        values = fixed(data, at, FORMATS[self.kind])
        return self.number(values, bad), at + FIXED_SIZES[self.kind]

    def number(self, values: Any, bad: Bools) -> Values:
        """Numbers as the column shows them."""
        if self.flag:
            bad |= (values > 1) | (values < -1)
            return Values(values == 1, valid=values != 0)
        if self.kind == "bool":
            return Values(values != 0)
        return Values(values, valid=None if self.unchanged is None else values != self.unchanged)

    def _sized(self, data: Bytes, at: Ints, end: Ints, bad: Bools, element: int) -> tuple[Values, Ints]:
        length, start, long = uvarints(data, np.minimum(at, end))
        if long is not None:
            bad |= long
        count = length - 1
        null = count < 0
        valid = None
        if null.any():
            if self.nullable:
                valid = ~null
            else:
                bad |= null
            count = np.maximum(count, 0)
        after = start + count * element
        beyond = after > end
        if beyond.any():
            bad |= beyond
            count = np.where(beyond, 0, count)
            after = np.minimum(after, end)
        if self.kind == "string":
            _check_text(data, start, count, bad)
        return Values(start, count, valid), after

    def absent(self, count: int) -> Values | None:
        """The column of a tagged field in records that do not show it; None when that is null."""
        if self.array or self.kind in ("string", "bytes", "uuid"):
            zeros = np.zeros(count, np.int64)
            return None if self.default is None else Values(zeros, zeros)
        if self.flag or self.default == self.unchanged:
            return None
        return Values(np.full(count, self.default, np.dtype(FORMATS[self.kind]).newbyteorder("=")))


@dataclass(frozen=True, slots=True)
class Nested:
    """A list of structures, which has no column: only where it ends is found."""

    steps: tuple[FieldStep, ...]
    nullable: bool
    column: None = None

    def read(self, data: Bytes, at: Ints, end: Ints, bad: Bools) -> tuple[None, Ints]:
        counts, at, long = uvarints(data, np.minimum(at, end))
        counts = counts - 1
        bad |= (counts > _MOST_ELEMENTS) | (counts < (-1 if self.nullable else 0))
        if long is not None:
            bad |= long
        rows = np.arange(len(at))
        for round_ in range(min(int(counts.max(initial=0)), _MOST_ELEMENTS)):
            rows = rows[(counts[rows] > round_) & ~bad[rows]]
            at[rows] = self._element(data, at[rows], end[rows], rows, bad)
        return None, at

    def _element(self, data: Bytes, at: Ints, end: Ints, rows: Ints, bad: Bools) -> Ints:
        wrong = np.zeros(len(rows), np.bool_)
        for step in self.steps:
            _, at = step.read(data, at, end, wrong)
        tags, at, _ = uvarints(data, np.minimum(at, end))
        wrong |= (tags != 0) | (at > end)
        bad[rows[wrong]] = True
        return np.minimum(at, end)


def fixed(data: Bytes, at: Ints, form: str) -> Any:
    """Numbers of a fixed size at any positions."""
    kind = np.dtype(form)
    unaligned = np.ndarray((len(data) - kind.itemsize + 1,), kind, data, strides=(1,))
    return unaligned[at]


def _check_text(data: Bytes, start: Ints, count: Ints, bad: Bools) -> None:
    """Mark texts that are no UTF-8. Plain ASCII, which nearly all is, is seen at once."""
    total = int(count.sum())
    if not total:
        return
    ends = np.cumsum(count)
    places = np.repeat(start - (ends - count), count) + np.arange(total)
    high = data[places] >= 128
    if not high.any():
        return
    rows = np.unique(np.searchsorted(ends, np.flatnonzero(high), side="right"))
    for row in rows.tolist():
        first = int(start[row])
        try:
            data[first : first + int(count[row])].tobytes().decode()
        except UnicodeDecodeError:
            bad[row] = True


@dataclass(frozen=True, slots=True)
class Part:
    """Values of a column for some records of a group, or (`rows` None) for all of them. Later parts win over earlier
    ones.
    """

    column: str
    rows: Ints | None
    values: Values


@dataclass(frozen=True, slots=True)
class Program:
    """The decoder of one record type and version."""

    name: str
    version: int
    steps: tuple[FieldStep | Nested, ...]
    tagged: dict[int, FieldStep]

    @property
    def columns(self) -> frozenset[str]:
        named = {step.column for step in (*self.steps, *self.tagged.values())}
        return frozenset("extra" if name is None else name for name in named)

    @property
    def all_named(self) -> bool:
        """Whether every field has a column."""
        return all(step.column is not None for step in self.steps)

    def run(self, data: Bytes, at: Ints, end: Ints, wanted: frozenset[str]) -> tuple[list[Part], list[Values], Bools]:
        """The columns asked for, the bytes of what has no column, and which records are left to the slow way.

        A column without a part is null. Stretches of fields without a column follow one another in the order of the
        layout.
        """
        bad = np.zeros(len(at), np.bool_)
        parts: list[Part] = []
        aside: list[Values] = []
        opened: Any = None
        for step in self.steps:
            if step.column is None and opened is None:
                opened = at
            elif step.column is not None and opened is not None:
                aside.append(Values(opened, at - opened))
                opened = None
            values, at = step.read(data, at, end, bad)
            if step.column in wanted and values is not None:
                parts.append(Part(str(step.column), None, values))
        if opened is not None:
            aside.append(Values(opened, at - opened))
        at = self._tags(data, at, end, wanted=wanted, parts=parts, bad=bad)
        bad |= at != end
        return parts, aside, bad

    def _tags(self, data: Bytes, at: Ints, end: Ints, wanted: frozenset[str], parts: list[Part], bad: Bools) -> Ints:
        counts, at, long = uvarints(data, np.minimum(at, end))
        if long is not None:
            bad |= long
        for step in self.tagged.values():
            if step.column in wanted and (values := step.absent(len(at))) is not None:
                parts.append(Part(step.column, None, values))
        too_many = counts > len(self.tagged)
        if too_many.any():
            bad |= too_many
            counts = np.where(too_many, 0, counts)
        before: Any = -1
        rows = np.arange(len(at))
        for round_ in range(int(counts.max(initial=0))):
            mine = (counts[rows] > round_) & ~bad[rows]
            if not mine.all():
                rows = rows[mine]
                before = before if round_ == 0 else before[mine]
            here, limit = at[rows], end[rows]
            tags, sizes, here, wrong = _tag_heads(data, here, limit)
            stops = here + sizes
            wrong |= (tags <= before) | (stops > limit)
            before = tags
            at[rows] = np.minimum(stops, limit)
            self._tag(data, rows, (tags, here, stops), wrong=wrong, wanted=wanted, parts=parts)
            if wrong.any():
                bad[rows[wrong]] = True
        return at

    def _tag(
        self,
        data: Bytes,
        rows: Ints,
        found: tuple[Ints, Ints, Ints],
        wrong: Bools,
        wanted: frozenset[str],
        parts: list[Part],
    ) -> None:
        """One tag of each of these records. Those that are unknown or do not fit their size become wrong."""
        tags, here, stops = found
        seen = np.bincount(np.where(wrong, 0, np.minimum(tags, _HIGHEST_TAG)), minlength=1)
        unknown = [tag for tag in np.flatnonzero(seen).tolist() if tag not in self.tagged]
        if unknown:
            wrong |= np.isin(np.minimum(tags, _HIGHEST_TAG), unknown)
        for tag, step in self.tagged.items():
            if tag >= len(seen) or not seen[tag]:
                continue
            chosen = np.flatnonzero((tags == tag) & ~wrong)
            bad = np.zeros(len(chosen), np.bool_)
            values, after = step.read(data, here[chosen], stops[chosen], bad)
            bad |= after != stops[chosen]
            if bad.any():
                wrong[chosen[bad]] = True
            if step.column in wanted:
                parts.append(Part(step.column, rows[chosen], values))


def _tag_heads(data: Bytes, at: Ints, limit: Ints) -> tuple[Ints, Ints, Ints, Bools]:
    """Tag and size of a tagged field, where its bytes begin, and which of them cannot be. Nearly always both are one
    byte.
    """
    pairs = pairs_of(data)[at]
    if not (pairs & 0x8080).any():
        return (pairs & 0x7F).astype(np.int64), (pairs >> 8).astype(np.int64), at + 2, np.zeros(len(at), np.bool_)
    tags, here, long = uvarints(data, at)
    sizes, here, longer = uvarints(data, np.minimum(here, limit))
    wrong = np.zeros(len(at), np.bool_)
    for more in (long, longer):
        if more is not None:
            wrong |= more
    return tags, sizes, here, wrong


@lru_cache(maxsize=256)
def program(key: int, version: int) -> Program | None:
    """The decoder of a record type and version; None where the slow way is the only one."""
    try:
        cls = record_class(key)
    except Exception:
        return None
    if version not in cls.VERSIONS or version not in cls.FLEXIBLE or cls.__name__ in SECRET_FIELDS:
        return None
    specs = [spec for spec in cls.FIELDS if version in spec.versions]
    columns = FIELD_COLUMNS.get(cls.__name__, {})
    if not all(_has_step(spec, version, columns) for spec in specs):
        return None
    plain = tuple(_step(cls, spec, version) for spec in specs if not spec.is_tagged(version))
    tagged = {spec.tag: _field(cls, spec, version) for spec in specs if spec.is_tagged(version)}
    return Program(cls.__name__, version, plain, tagged)


def _has_step(spec: FieldSpec, version: int, columns: Mapping[str, str]) -> bool:
    if spec.is_tagged(version) and spec.name not in columns:
        return False
    if spec.struct is None:
        return spec.kind in ELEMENTS if spec.array else spec.kind in FORMATS or spec.kind in ("string", "uuid")
    inner = [each for each in spec.struct.FIELDS if version in each.versions]
    plain = all(each.struct is None and not each.is_tagged(version) for each in inner)
    return spec.array and plain and all(_has_step(each, version, columns) for each in inner)


def _step(cls: type[Message], spec: FieldSpec, version: int) -> FieldStep | Nested:
    if spec.struct is None:
        return _field(cls, spec, version)
    inner = (each for each in spec.struct.FIELDS if version in each.versions)
    return Nested(tuple(_field(cls, each, version, inside=True) for each in inner), version in spec.nullable)


def _field(cls: type[Message], spec: FieldSpec, version: int, *, inside: bool = False) -> FieldStep:
    name = cls.__name__
    column = None if inside else FIELD_COLUMNS.get(name, {}).get(spec.name)
    return FieldStep(
        spec.name, spec.kind, array=spec.array, nullable=version in spec.nullable, column=column, default=spec.default,
        unchanged=NO_CHANGE.get((name, spec.name)), flag=name == FLAG_CHANGES[0] and spec.name in FLAG_CHANGES[1],
    )  # fmt: skip
