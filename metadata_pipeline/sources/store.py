"""The columns of a block of records while they are being filled: by groups of records at once, and by single ones.

Texts, ids and lists are kept as places in the buffer the log was read into; what Python made (JSON, a fingerprint) is appended to a side
buffer and is a place there. Only `array` gathers. A column that nobody fills is null throughout and costs nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from metadata_pipeline.schemas import ARROW_TYPES, RECORDS
from metadata_pipeline.sources.columns import UUID_BYTES, int_lists, numbers, texts, uuid_lists, uuids
from metadata_pipeline.sources.headers import Bytes, Ints
from metadata_pipeline.sources.layouts import Values

_KINDS: Final = {column.name: column.kind for column in RECORDS}
_UUID_COLUMNS: Final = frozenset(("topic_id", "incarnation_id"))
_NUMBERS: Final = {"boolean": np.bool_, "tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}
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

    def _column(self, name: str) -> Values:
        column = self._columns.get(name)
        if column is None:
            kind = _KINDS[name]
            if kind in _NUMBERS:
                column = Values(np.zeros(self.count, _NUMBERS[kind]), None, np.zeros(self.count, np.bool_))
            else:
                zeros = np.zeros(self.count, np.int64)
                column = Values(zeros, np.zeros(self.count, np.int64), np.zeros(self.count, np.bool_))
            self._columns[name] = column
        return column

    def put(self, name: str, rows: Ints, values: Values, chosen: Any = None) -> None:
        """The values of a group of records (of those chosen) into their rows."""
        column = self._column(name)
        column.data[rows] = values.data if chosen is None else values.data[chosen]
        if column.size is not None and values.size is not None:
            column.size[rows] = values.size if chosen is None else values.size[chosen]
        if values.valid is None:
            column.valid[rows] = True
        else:
            column.valid[rows] = values.valid if chosen is None else values.valid[chosen]

    def set(self, name: str, row: int, value: Any) -> None:
        """One value of one record: a number, text, bytes, or a tuple of numbers or of uuids."""
        if name not in self.wanted:
            return
        column = self._column(name)
        if value is None:
            column.valid[row] = False
            return
        column.valid[row] = True
        if column.size is None:
            column.data[row] = value
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
        return {name: self._array(name, column, source) for name, column in self._columns.items()}

    def _array(self, name: str, column: Values, source: Bytes) -> pa.Array:
        kind = _KINDS[name]
        valid = None if column.valid.all() else column.valid
        if column.size is None:
            return numbers(column.data, ARROW_TYPES[kind], valid)
        if kind == "ints":
            return int_lists(source, column.data, column.size, valid)
        if kind == "strings":
            return uuid_lists(source, column.data, column.size, valid)
        if name in _UUID_COLUMNS:
            return uuids(source, column.data, valid)
        array = texts(source, column.data, column.size, valid)
        return array.cast(pa.binary()) if kind == "binary" else array


assert UUID_BYTES <= BEHIND, "a uuid may be read at the last byte"
