"""The project's message definitions, compiled to decoders that read one field of many records at a time.

`program(cls, version)` turns the fields of a record class into steps: each takes where the records' bytes go on, gives the field as a
column and the positions behind it. Tagged fields are read in rounds, the j-th tag of every record together. A record whose bytes are not
plainly what the layout says (a null where none may be, a tag unknown or out of order, bytes left over, text that is no UTF-8) is marked
bad and left to `describe`; so a program only has to be right about good records, and a test compares the two for all of them.
There is no program for records with lists of structures, with fields that have no column or with secrets in every one of them: their
rows hold JSON, which is made one by one anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from controller_runtime.metadata.records import record_class
from controller_runtime.protocol.schema import FIXED_SIZES, FieldSpec, Message
from metadata_pipeline.redaction import SECRET_FIELDS
from metadata_pipeline.schemas import FIELD_COLUMNS, FLAG_CHANGES, NO_CHANGE
from metadata_pipeline.sources.headers import Bytes, Ints
from metadata_pipeline.sources.lockstep import Bools, pairs_of, uvarints

_FORMATS: Final = {"int8": "i1", "int16": ">i2", "int32": ">i4", "int64": ">i8", "bool": "u1"}
_HIGHEST_TAG: Final = 255
_ELEMENTS: Final = {"int32": 4, "uuid": 16}


@dataclass(slots=True)
class Values:
    """A column over the records of a group. Numbers: `data`. Texts, uuids and lists: `data` is where they begin, `size` how long or how many."""

    data: Any
    size: Any = None
    valid: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """One field: how it is read, and where it goes."""

    name: str
    kind: str
    array: bool
    nullable: bool
    column: str
    default: Any
    unchanged: int | None
    flag: bool

    def read(self, data: Bytes, at: Ints, end: Ints, bad: Bools) -> tuple[Values, Ints]:
        """The field at each position and the positions behind; `bad` collects the records that do not fit."""
        if self.array:
            return self._sized(data, at, end, bad, _ELEMENTS[self.kind])
        if self.kind in ("string", "bytes"):
            return self._sized(data, at, end, bad, 1)
        if self.kind == "uuid":
            return Values(at), at + 16
        values = fixed(data, at, _FORMATS[self.kind])
        return self._number(values, bad), at + FIXED_SIZES[self.kind]

    def _number(self, values: Any, bad: Bools) -> Values:
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
        return Values(np.full(count, self.default, np.dtype(_FORMATS[self.kind]).newbyteorder("=")))


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
    """Values of a column for some records of a group, or (`rows` None) for all of them. Later parts win over earlier ones."""

    column: str
    rows: Ints | None
    values: Values


@dataclass(frozen=True, slots=True)
class Program:
    """The decoder of one record type and version."""

    name: str
    version: int
    steps: tuple[Step, ...]
    tagged: dict[int, Step]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(step.column for step in (*self.steps, *self.tagged.values()))

    def run(self, data: Bytes, at: Ints, end: Ints, wanted: frozenset[str]) -> tuple[list[Part], Bools]:
        """The columns asked for, and which records are left to the slow way. A column without a part is null."""
        bad = np.zeros(len(at), np.bool_)
        parts: list[Part] = []
        for step in self.steps:
            values, at = step.read(data, at, end, bad)
            if step.column in wanted:
                parts.append(Part(step.column, None, values))
        at = self._tags(data, at, end, wanted, parts, bad)
        bad |= at != end
        return parts, bad

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
            self._tag(data, rows, (tags, here, stops), wrong, wanted, parts)
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
    """Tag and size of a tagged field, where its bytes begin, and which of them cannot be. Nearly always both are one byte."""
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
    if not all(_has_step(cls, spec) for spec in specs):
        return None
    plain = tuple(_step(cls, spec, version) for spec in specs if not spec.is_tagged(version))
    tagged = {spec.tag: _step(cls, spec, version) for spec in specs if spec.is_tagged(version)}
    return Program(cls.__name__, version, plain, tagged)


def _has_step(cls: type[Message], spec: FieldSpec) -> bool:
    if spec.name not in FIELD_COLUMNS.get(cls.__name__, {}) or spec.struct is not None:
        return False
    return spec.kind in _ELEMENTS if spec.array else spec.kind in _FORMATS or spec.kind in ("string", "uuid")


def _step(cls: type[Message], spec: FieldSpec, version: int) -> Step:
    name = cls.__name__
    return Step(
        spec.name, spec.kind, spec.array, version in spec.nullable, FIELD_COLUMNS[name][spec.name], spec.default,
        NO_CHANGE.get((name, spec.name)), name == FLAG_CHANGES[0] and spec.name in FLAG_CHANGES[1],
    )  # fmt: skip
