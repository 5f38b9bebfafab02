"""The columns of a block of records while they are being filled: by groups of records at once, and by single ones.

Texts, ids and lists are kept as places in the buffer the log was read into; what Python made (JSON, a fingerprint) is appended to a side
buffer and is a place there. Only `array` gathers. A column that nobody fills is null throughout and costs nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from metadata_pipeline.schemas import ARROW_TYPES, RECORDS
from metadata_pipeline.sources.columns import UUID_BYTES, int_lists, numbers, spread, texts, uuid_lists, uuids
from metadata_pipeline.sources.headers import Bytes, Ints
from metadata_pipeline.sources.layouts import Values

_KINDS: Final = {column.name: column.kind for column in RECORDS}
_UUID_COLUMNS: Final = frozenset(("topic_id", "incarnation_id"))
_NUMBERS: Final = {"boolean": np.bool_, "tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}
SPARSE: Final = 4
"""A column with values in fewer rows than one of so many is made without a look at the other rows."""
BEHIND: Final = 64
"""Zeros behind every buffer: reading a fixed size at any place within is then safe."""


class Store:
    """Columns over `count` records whose bytes lie in `data`."""

    def __init__(self, data: Bytes, count: int, wanted: frozenset[str]) -> None:
        self.count = count
        self.wanted = wanted
        self._data = data
        self._side: list[bytes] = []
        self._side_size = 0
        self._columns: dict[str, Values] = {}
        self._parts: dict[str, list[tuple[Ints, Values]]] = {}

    def _column(self, name: str) -> Values:
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
        source = self._data
        if self._side:
            side = np.frombuffer(b"".join(self._side) + bytes(BEHIND), np.uint8)
            source = np.concatenate((self._data, side))
        found = {name: self._array(name, column, source) for name, column in self._columns.items()}
        return found | {name: self._sparse(name, parts, source) for name, parts in self._parts.items()}

    def _sparse(self, name: str, parts: list[tuple[Ints, Values]], source: Bytes) -> pa.Array:
        """A column of which only these rows may have values: made for them, then spread."""
        rows, places = _merged([rows for rows, _ in parts])
        column = _empty(name, len(rows))
        for place, (_, values) in zip(places, parts, strict=True):
            _fill(column, place, values)
        there = _there(column)
        if not there.all():
            column = Values(
                *(None if part is None else part[there] for part in (column.data, column.size, column.valid))
            )
            rows = rows[there]
        return spread(self._array(name, column, source), rows, self.count)

    def _array(self, name: str, column: Values, source: Bytes) -> pa.Array:
        kind = _KINDS[name]
        there = _there(column)
        valid = None if there.all() else there
        if column.valid is not None:
            return numbers(column.data, ARROW_TYPES[kind], valid)
        if kind == "ints":
            return int_lists(source, column.data, column.size, valid)
        if kind == "strings":
            return uuid_lists(source, column.data, column.size, valid)
        if name in _UUID_COLUMNS:
            return uuids(source, column.data, valid)
        array = texts(source, column.data, column.size, valid)
        return array.cast(pa.binary()) if kind == "binary" else array


def _empty(name: str, count: int) -> Values:
    """A column in which every row is null."""
    kind = _KINDS[name]
    if kind in _NUMBERS:
        return Values(np.zeros(count, _NUMBERS[kind]), None, np.zeros(count, np.bool_))
    if name in _UUID_COLUMNS:
        return Values(np.full(count, -1, np.int64))
    return Values(np.zeros(count, np.int64), np.full(count, -1, np.int64))


def _fill(column: Values, rows: Ints, values: Values) -> None:
    data, size, valid = values.data, values.size, values.valid
    if column.valid is not None:
        column.data[rows] = data
        column.valid[rows] = True if valid is None else valid
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


def _there(column: Values) -> Any:
    """Which rows are not null."""
    return column.valid if column.valid is not None else (column.data if column.size is None else column.size) >= 0


assert UUID_BYTES <= BEHIND, "a uuid may be read at the last byte"
