"""The columns of a block of records while they are being filled: by groups of records at once, and by single ones.

Texts, ids and lists are kept as places in the buffer the log was read into, or as blocks of bytes that were taken from
it already; what Python made (JSON, a fingerprint) is appended to a side buffer and is a place there. Only `arrays`
gathers. A column that nobody fills is null throughout and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metadata_pipeline.schemas import ARROW_TYPES, RECORDS
from metadata_pipeline.sources.arrays import Bytes, Ints
from metadata_pipeline.sources.columns import UUID_BYTES, ids_at, int_lists, numbers, spread, texts, uuid_lists, uuids
from metadata_pipeline.sources.layouts import Values

_KINDS: Final = {column.name: column.kind for column in RECORDS}
_UUID_COLUMNS: Final = frozenset(("topic_id", "incarnation_id"))
_NUMBERS: Final = {"boolean": np.bool_, "tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}
SPARSE: Final = 4
"""A column with values in fewer rows than one of so many is made without a look at the other rows."""
BEHIND: Final = 64
"""Zeros behind every buffer: reading a fixed size at any place within is then safe."""


_ALWAYS_ASIDE: Final = frozenset(("extra", "detail", "raw"))
"""Columns of what Python made, and of nothing else."""
_IN_BLOCK: Final = 1 << 62
"""Stands for the place of an id that is in a block."""


@dataclass(slots=True)
class _Column:
    """A column over rows: places and sizes, or numbers and which are there; -1 is null. Rows of blocks have sizes, but
    no places.
    """

    data: Any
    size: Any = None
    valid: Any = None
    blocks: list[tuple[Any, Any]] = field(default_factory=list)

    def there(self) -> Any:
        """Which rows are not null."""
        return self.valid if self.valid is not None else (self.data if self.size is None else self.size) >= 0

    def kept(self, there: Any) -> _Column:
        """These rows only; all others are null."""
        rows = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        data, size, valid = (None if part is None else part[rows] for part in (self.data, self.size, self.valid))
        return _Column(data, size, valid, [(number[some], block) for some, block in self.blocks])


class Store:
    """Columns over `count` records whose bytes lie in `data`."""

    def __init__(self, data: Bytes, count: int, wanted: frozenset[str]) -> None:
        self.count = count
        self.wanted = wanted
        self._data = data
        self._side: list[bytes] = []
        self._side_size = 0
        self._mixed: set[str] = set()
        """Columns with places in the side buffer, and perhaps in the other one too."""
        self._columns: dict[str, _Column] = {}
        self._parts: dict[str, list[tuple[Ints, Values]]] = {}

    def _column(self, name: str) -> _Column:
        """The column over all rows."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _empty(name, self.count)
            for rows, values in self._parts.pop(name, ()):
                _fill(column, rows, values)
        return column

    def put(self, name: str, rows: Ints, values: Values, chosen: Any = None) -> None:
        """The values of a group of records (of those chosen) into their rows."""
        if chosen is not None:
            assert values.block is None, "blocks are put whole"
            three = values.data, values.size, values.valid
            values = Values(*(each if each is None else each[chosen] for each in three))
        if name in self._columns:
            _fill(self._columns[name], rows, values)
            return
        parts = self._parts.setdefault(name, [])
        parts.append((rows, values))
        if sum(len(some) for some, _ in parts) * SPARSE > self.count:
            self._column(name)

    def set(self, name: str, row: int, value: Any) -> None:
        """One value of one record: a number, text, bytes, or a tuple of numbers or of uuids."""
        if name not in self.wanted:
            return
        column = self._column(name)
        if column.valid is not None:
            column.valid[row] = value is not None
            column.data[row] = value or 0
            return
        lengths = column.data if column.size is None else column.size
        if value is None:
            lengths[row] = -1
            return
        if isinstance(value, str):
            encoded, size = value.encode(), -1
        elif isinstance(value, tuple):
            size = len(value)
            encoded = b"".join(
                each if isinstance(each, bytes) else int(each).to_bytes(4, "big", signed=True) for each in value
            )
        else:
            encoded, size = value, -1
        column.data[row] = self.aside(encoded)
        if name not in _ALWAYS_ASIDE:
            self._mixed.add(name)
        if column.size is not None:
            column.size[row] = len(encoded) if size < 0 else size

    def aside(self, data: bytes) -> int:
        """Keep bytes that are not in the buffer; returns their place."""
        place = len(self._data) + self._side_size
        self._side.append(data)
        self._side_size += len(data)
        return place

    def arrays(self) -> dict[str, pa.Array]:
        """What was filled, as Arrow arrays."""
        side = np.frombuffer(b"".join(self._side) + bytes(BEHIND), np.uint8)
        both = np.concatenate((self._data, side)) if self._mixed else self._data
        found: dict[str, pa.Array] = {}
        for name in (*self._columns, *self._parts):
            shift = len(self._data) if name in _ALWAYS_ASIDE else 0
            source = side if shift else both if name in self._mixed else self._data
            found[name] = self._made(name, source, shift)
        return found

    def _made(self, name: str, source: Bytes, shift: int) -> pa.Array:
        if name in self._columns:
            return _array(name, self._columns[name], source, shift)
        return self._sparse(name, self._parts[name], source, shift)

    def _sparse(self, name: str, parts: list[tuple[Ints, Values]], source: Bytes, shift: int) -> pa.Array:
        """A column of which only these rows may have values: made for them, then spread."""
        rows, places = _merged([rows for rows, _ in parts])
        column = _empty(name, len(rows))
        for place, (_, values) in zip(places, parts, strict=True):
            _fill(column, place, values)
        there = column.there()
        if not there.all():
            column, rows = column.kept(there), rows[np.flatnonzero(there)]
        return spread(_array(name, column, source, shift), rows, self.count)


def _array(name: str, column: _Column, source: Bytes, shift: int) -> pa.Array:
    """The column as Arrow has it; its places count from `shift` bytes before the source."""
    kind = _KINDS[name]
    there = column.there()
    valid = None if there.all() else there
    if column.valid is not None:
        return numbers(column.data, ARROW_TYPES[kind], valid)
    if kind == "ints":
        return int_lists(source, column.data, column.size, valid, column.blocks)
    if kind == "strings":
        return uuid_lists(source, column.data, column.size, valid, column.blocks)
    if name in _UUID_COLUMNS:
        return uuids(_ids(source, column), valid)
    array = texts(source, column.data - shift, column.size, valid)
    return array.cast(pa.binary()) if kind == "binary" else array


def _ids(source: Bytes, column: _Column) -> Any:
    """The sixteen bytes of each id; of null anything."""
    if not column.blocks:
        return ids_at(source, np.maximum(column.data, 0))
    ids = np.zeros(len(column.data), f"V{UUID_BYTES}")
    for rows, block in column.blocks:
        ids[rows] = block
    left = np.flatnonzero((column.data >= 0) & (column.data < _IN_BLOCK))
    if len(left):
        ids[left] = ids_at(source, column.data[left])
    return ids


def _empty(name: str, count: int) -> _Column:
    """A column in which every row is null."""
    kind = _KINDS[name]
    if kind in _NUMBERS:
        return _Column(np.zeros(count, _NUMBERS[kind]), None, np.zeros(count, np.bool_))
    if name in _UUID_COLUMNS:
        return _Column(np.full(count, -1, np.int64))
    return _Column(np.zeros(count, np.int64), np.full(count, -1, np.int64))


def _fill(column: _Column, rows: Any, values: Values) -> None:
    data, size, valid = values.data, values.size, values.valid
    if column.valid is not None:
        column.data[rows] = data
        column.valid[rows] = True if valid is None else valid
    elif values.block is not None:
        column.blocks.append((rows, values.block))
        if column.size is None:
            column.data[rows] = _IN_BLOCK
        else:
            column.size[rows] = size
    elif column.size is None:
        column.data[rows] = data if valid is None else np.where(valid, data, -1)
    else:
        column.data[rows] = data
        column.size[rows] = size if valid is None else np.where(valid, size, -1)


def _merged(parts: list[Ints]) -> tuple[Ints, list[Any]]:
    """All rows of several ascending lists, ascending and each once, and where those of each list went."""
    if len(parts) == 1:
        return parts[0], [slice(None)]
    several = np.concatenate(parts)
    order = np.argsort(several, kind="stable")
    rows = several[order]
    new = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=new[1:])
    places = np.empty(len(rows), np.int64)
    places[order] = np.cumsum(new) - 1
    return rows[new], np.split(places, np.cumsum([len(part) for part in parts[:-1]]))


assert UUID_BYTES <= BEHIND, "a uuid may be read at the last byte"
