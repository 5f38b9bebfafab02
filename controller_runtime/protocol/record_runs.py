"""Neighbouring records of one layout, looked at column by column: what fixed-size values make of nearly every batch.

Records whose varints have the same widths, whose keys and values have the same lengths and that have no headers lie at
equal distances. Then each byte of what lies between their contents is a column, an extended slice, and a comparison of
two columns is one step of the interpreter where record by record it is ten thousand. What is said of a run is what
`record_survey` says of its records one by one (a property holds both against each other); whatever is not plainly a
run is left to it, errors above all.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

WORTH_IT: Final = 64
"""Records: fewer are looked at one by one."""
_LAST: Final = re.compile(rb"[\x00-\x7f]*")
_NOT_LAST: Final = re.compile(rb"[\x80-\xff]*")
_WIDEST: Final = 5
"""Bytes of a varint that is an int in Java; wider timestamps are left to who reads record by record."""


class Run(NamedTuple):
    """Records from one place on; timestamps are relative to the batch's."""

    records: int
    earliest: int
    latest: int
    has_null_keys: bool
    end: int
    """The byte after the last one."""


class _Layout(NamedTuple):
    """Where the varints of the first record lie, from the record's beginning: (place, width)."""

    length: tuple[int, int]
    timestamp: tuple[int, int]
    offset: tuple[int, int]
    key: tuple[int, int]
    value: tuple[int, int]
    headers: int
    size: int
    has_null_key: bool


def run_at(data: bytes, position: int, count: int) -> Run | None:
    """The run that begins here, of `count` records at most; None if it is not worth it."""
    if count < WORTH_IT:
        return None
    layout = _layout(data, position)
    if layout is None:
        return None
    size = layout.size
    count = min(count, (len(data) - position) // size)
    width = layout.length[1]
    last = position + (WORTH_IT - 1) * size
    if count < WORTH_IT or data[last : last + width] != data[position : position + width]:
        return None  # Sizes differ, most likely: that is seen at little cost.
    count = _alike(data, position, count, layout)
    if count < WORTH_IT:
        return None
    first, width = layout.timestamp
    columns = [data[position + at : position + count * size : size] for at in range(first, first + width)]
    times = [_signed(bytes(distinct)) for distinct in set(zip(*columns, strict=True))]
    return Run(count, min(times), max(times), layout.has_null_key, position + count * size)


def _layout(data: bytes, position: int) -> _Layout | None:
    """Of the record here, if it is whole, plain and without headers."""
    at = stop = position
    widths: list[tuple[int, int]] = []
    lengths: list[int] = []
    try:
        for field in range(5):  # length, timestamp, offset, key, value
            width = _width(data, at)
            value = _unsigned(data[at : at + width])
            widths.append((at - position, width))
            lengths.append(value)
            at += width
            if field == 0:
                stop = at + (value >> 1)
                at += 1  # attributes
            elif field > 2 and not value & 1:
                at += value >> 1
        if lengths[0] & 1 or data[at] or at + 1 != stop or stop > len(data):
            return None
    except (IndexError, OverflowError):
        return None
    length, timestamp, offset, key, value_length = widths
    return _Layout(
        length,
        timestamp,
        offset,
        key,
        value=value_length,
        headers=at - position,
        size=stop - position,
        has_null_key=bool(lengths[3] & 1),
    )


def _width(data: bytes, position: int) -> int:
    for width in range(1, _WIDEST + 1):
        if data[position + width - 1] < 128:
            return width
    raise OverflowError("a varint that is none of an int")


def _unsigned(varint: bytes) -> int:
    """Cut to 32 bits, as Java does; zigzag not undone."""
    value = 0
    for number, byte in enumerate(varint):
        value |= (byte & 127) << 7 * number
    return value & 0xFFFFFFFF


def _signed(varint: bytes) -> int:
    """A timestamp, of at most five bytes: a long is not cut."""
    value = 0
    for number, byte in enumerate(varint):
        value |= (byte & 127) << 7 * number
    return (value >> 1) ^ -(value & 1)


def _alike(data: bytes, position: int, count: int, layout: _Layout) -> int:
    """How many records from the first on have its layout, of `count` at most."""
    size = layout.size
    same = [at for first, width in (layout.length, layout.key, layout.value) for at in range(first, first + width)]
    for at in (*same, layout.headers):
        column = data[position + at : position + count * size : size]
        count -= len(column.lstrip(column[:1]))
    for first, width in (layout.timestamp, layout.offset):
        for at in range(first, first + width):
            column = data[position + at : position + count * size : size]
            found = (_LAST if at == first + width - 1 else _NOT_LAST).match(column)
            count = found.end() if found is not None else 0
    return count
