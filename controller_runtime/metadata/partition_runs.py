"""Thousands of partitions from the bytes of a snapshot, without an object for any of them.

In a snapshot each topic is followed by its partitions, in order, and their records have the same length and differ only
in numbers: a run. The bytes of all runs of one shape are laid end to end, and then each byte of a record is a column,
which slices cut out at a nanosecond a byte. Columns that must be the same in all records are compared as a whole; those
of numbers become columns of rows (`partitions`). What is not exactly as expected, be it one byte in one record, is left
to those who decode records one by one, so they alone say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.partitions import HEAD_BYTES, DirectoryTable, Row
from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.records import read_value
from controller_runtime.values import dataclass

_FRAME: Final = (b"\1\3\1", b"\1\3\2")
"""How the value of a PartitionRecord begins whose version names directories."""
_TOPIC_AT: Final = 7
_REPLICAS_AT: Final = 23
MOST_REPLICAS: Final = 16
"""Of more, or fewer than one, records are decoded one by one."""
_MOST_INDEXES: Final = 1 << 14
_HIGH: Final = bytes(range(128, 256))
_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class PartitionRun:
    """Consecutive partitions of one topic; `rows` are as long as each other, packed with the table of their reader."""

    topic_id: Uuid
    first: int
    count: int
    rows: Row


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the records of a run have in common: how long they are, where the offset ends and the value begins, and how
    many their lists hold. The offset has as many bytes in each.
    """

    size: int
    offset_at: int
    offset_end: int
    value_at: int
    replicas: int
    isr: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A run as it lies in the bytes."""

    shape: _Shape
    topic_id: bytes
    first: int
    begin: int
    count: int


Unit = PartitionRun | bytes | None
"""A run, or the value of a single record."""


class RunReader:
    """Reads one snapshot."""

    def __init__(self, table: DirectoryTable) -> None:
        self._table = table
        self._homes = _Homes(table)

    def units(self, data: bytes, begin: int, count: int) -> Iterator[Unit]:
        """What so many records say, in order; `data` are the records of a batch, from `begin` to the end. Raises what
        reading one by one raises.
        """
        found = list(_cut(data, begin, count))
        rows = self._all_rows(data, [one for one in found if isinstance(one, _Found)])
        for one in found:
            if not isinstance(one, _Found):
                yield one
            elif (packed := rows.get(one.begin)) is not None:
                yield PartitionRun(Uuid(one.topic_id), one.first, one.count, packed)
            else:
                position = one.begin
                for _ in range(one.count):
                    value, position = read_value(data, position)
                    yield value

    def _all_rows(self, data: bytes, runs: Sequence[_Found]) -> dict[int, Row]:
        """The rows of each run, by where it begins; those that are not as they seemed are missing."""
        by_shape: dict[_Shape, list[_Found]] = {}
        for run in runs:
            by_shape.setdefault(run.shape, []).append(run)
        rows: dict[int, Row] = {}
        for shape, alike in by_shape.items():
            made = self._rows(data, shape, alike)
            if made is not None:
                size, begin = _layout(shape).row_bytes, 0
                for run in alike:
                    rows[run.begin] = made[begin : begin + run.count * size]
                    begin += run.count * size
        return rows

    def _rows(self, data: bytes, shape: _Shape, runs: Sequence[_Found]) -> Row | None:
        """Of all these runs, one behind the other; None if a record is not as it seemed."""
        layout, size = _layout(shape), shape.size
        records = b"".join([data[run.begin : run.begin + run.count * size] for run in runs])
        if not _are_as_they_seem(records, shape, runs):
            return None
        numbers: bytes | None = self._homes.numbers(records, shape)
        if numbers is None:
            ids = bytes(_field(records, size, layout.directories_at, _ID_BYTES * shape.replicas))
            numbers = self._table.packed_numbers(ids)
            self._homes.learn(_field(records, size, layout.replicas_at, 4 * shape.replicas), ids)
        rows = bytearray(layout.row * (len(records) // size))
        for source, place in layout.moves:
            rows[place :: layout.row_bytes] = records[source::size]
        width = 4 * shape.replicas
        for byte in range(width):
            rows[layout.row_directories_at + byte :: layout.row_bytes] = numbers[byte::width]
        return bytes(rows)


# Where runs are.


def _cut(data: bytes, position: int, count: int) -> Iterator[_Found | bytes | None]:
    end = len(data)
    while count > 0:
        value, following = read_value(data, position)
        shape = _shape(data[position:following], value)
        if shape is None or value is None:
            yield value
            count -= 1
            position = following
            continue
        topic_id = value[_TOPIC_AT:_REPLICAS_AT]
        most = min(count, (end - position) // shape.size)
        length = _length(data, position + shape.value_at + _TOPIC_AT, shape.size, most, topic_id)
        length = _as_long_as_the_first(data, position, shape, length)
        yield _Found(shape, topic_id, int.from_bytes(value[3:_TOPIC_AT], "big"), position, length)
        count -= length
        position += length * shape.size
    if position != end:
        raise Invalid(f"{end - position} bytes are left over after the last record")


def _shape(record: bytes, value: bytes | None) -> _Shape | None:
    """None: it is not the record of a partition as most are."""
    if value is None or value[:3] not in _FRAME or len(value) <= _REPLICAS_AT:
        return None
    counts = _counts(value)
    begin = 1 if record[0] < 128 else 2
    offset_end = offset_at = begin + 2  # behind length, attributes and time
    while record[offset_end] > 127:
        offset_end += 1
    value_at = len(record) - 1 - len(value)
    plain = record[begin - 1] < 128 and record[begin:offset_at] == b"\0\0" and record[-1] == 0
    if counts is None or not plain or record[offset_end + 1 :][:1] != b"\1" or record[value_at:-1] != value:
        return None
    return _Shape(len(record), offset_at, offset_end + 1, value_at, *counts)


def _counts(value: bytes) -> tuple[int, int] | None:
    """Of replicas and of those in sync; None: it has more than these, or they are many."""
    replicas = value[_REPLICAS_AT] - 1
    isr_at = _REPLICAS_AT + 1 + 4 * replicas
    if not 1 <= replicas <= MOST_REPLICAS or isr_at >= len(value):
        return None
    isr = value[isr_at] - 1
    changing_at = isr_at + 1 + 4 * isr
    directories_at = changing_at + 2 + 12
    if not 0 <= isr <= MOST_REPLICAS or len(value) != directories_at + 1 + _ID_BYTES * replicas + 1:
        return None
    is_usual = value[changing_at : changing_at + 2] == b"\1\1" and value[-1] == 0
    return (replicas, isr) if is_usual and value[directories_at] == replicas + 1 else None


def _length(data: bytes, at: int, size: int, most: int, topic_id: bytes) -> int:
    """How many records have this topic's id where it should be: as far as doubling and halving show."""
    good, bad = 0, 1
    while bad < most and data[at + bad * size : at + bad * size + _ID_BYTES] == topic_id:
        good, bad = bad, 2 * bad
    bad = min(bad, most)
    while bad - good > 1:
        middle = (good + bad) // 2
        begin = at + middle * size
        if data[begin : begin + _ID_BYTES] == topic_id:
            good = middle
        else:
            bad = middle
    return good + 1


def _as_long_as_the_first(data: bytes, position: int, shape: _Shape, count: int) -> int:
    """How many of these say that they are as long: so each of them begins where it should."""
    for byte in range(shape.offset_at - 2):
        column = data[position + byte : position + count * shape.size : shape.size]
        count = min(count, len(column) - len(column.lstrip(column[:1])))
    return count


# From records to rows.


def _are_as_they_seem(records: bytes, shape: _Shape, runs: Sequence[_Found]) -> bool:
    layout, size = _layout(shape), shape.size
    count = len(records) // size
    if any(records[column::size] != records[column : column + 1] * count for column in layout.alike):
        return False
    if not _are_offsets(records, shape) or any(run.first + run.count > _MOST_INDEXES for run in runs):
        return False
    indexes = b"".join([_indexes()[4 * run.first : 4 * (run.first + run.count)] for run in runs])
    ids = b"".join([run.topic_id * run.count for run in runs])
    has_indexes = _field(records, size, layout.index_at, 4) == indexes
    return has_indexes and _field(records, size, layout.topic_at, _ID_BYTES) == ids


class _Homes:
    """Which directory each broker has, if it has one: then the ids in records need not be looked up one by one, but are
    compared column by column with those of their brokers. Only brokers below 256 are looked at.
    """

    def __init__(self, table: DirectoryTable) -> None:
        self._table = table
        self._of: dict[int, bytes] = {}
        self._is_clear = True
        """No broker has two."""
        self._ids = [bytes(256)] * _ID_BYTES
        """Each byte of the ids, by broker."""
        self._numbers = bytes(256)

    def learn(self, replicas: bytearray, ids: bytes) -> None:
        """Brokers, four bytes each, and the directories where they have these replicas."""
        if not self._is_clear:
            return
        for at in range(len(replicas) // 4):
            broker = int.from_bytes(replicas[4 * at : 4 * at + 4], "big")
            home = ids[_ID_BYTES * at : _ID_BYTES * (at + 1)]
            if self._of.setdefault(broker, home) != home or broker > 255:
                self._is_clear = False
                return
        known = [self._of.get(broker, bytes(_ID_BYTES)) for broker in range(256)]
        self._ids = [bytes(column) for column in zip(*known, strict=True)]
        numbers = [self._table.number(Uuid(home)) if broker in self._of else 0 for broker, home in enumerate(known)]
        if max(numbers) > 255:
            self._is_clear = False
            return
        self._numbers = bytes(numbers)

    def numbers(self, records: bytes, shape: _Shape) -> bytes | None:
        """Of the directories, as rows have them; None: somebody is not where he was before."""
        layout, size, width = _layout(shape), shape.size, 4 * shape.replicas
        count = len(records) // size
        if not self._of or not self._is_clear:
            return None
        found, known = bytearray(count * width), bytes(self._of)
        for replica in range(shape.replicas):
            at, home_at = layout.replicas_at + 4 * replica, layout.directories_at + _ID_BYTES * replica
            brokers = records[at + 3 :: size]
            if brokers.translate(None, known) or any(records[at + byte :: size] != bytes(count) for byte in range(3)):
                return None
            if any(records[home_at + byte :: size] != brokers.translate(ids) for byte, ids in enumerate(self._ids)):
                return None
            found[4 * replica :: width] = brokers.translate(self._numbers)
        return bytes(found)


def _field(records: bytes, size: int, at: int, width: int) -> bytearray:
    """The same bytes of each record, one behind the other."""
    found = bytearray(len(records) // size * width)
    for byte in range(width):
        found[byte::width] = records[at + byte :: size]
    return found


def _are_offsets(records: bytes, shape: _Shape) -> bool:
    """Whether each record has a varint of this width here: bytes above 127, then one below 128."""
    *more, last = [records[column :: shape.size] for column in range(shape.offset_at, shape.offset_end)]
    return last.isascii() and not any(column.translate(None, _HIGH) for column in more)


@cache
def _indexes() -> bytes:
    """Of partitions, as records have them."""
    return b"".join([index.to_bytes(4, "big") for index in range(_MOST_INDEXES)])


class _Layout:
    """Which columns of a record of this shape are what."""

    def __init__(self, shape: _Shape) -> None:
        at, replicas, isr = shape.value_at, shape.replicas, shape.isr
        lists = 4 * (2 * replicas + isr)
        self.row_bytes = HEAD_BYTES + lists
        self.row = bytes(13) + bytes((replicas, replicas, isr, 0, 0, 0, 0)) + bytes(lists)
        self.index_at = at + 3
        self.topic_at = at + _TOPIC_AT
        self.replicas_at = replicas_at = at + _REPLICAS_AT + 1
        isr_at = replicas_at + 4 * replicas + 1
        leader_at = isr_at + 4 * isr + 2
        self.directories_at = leader_at + 12 + 1
        self.row_directories_at = HEAD_BYTES + 4 * replicas
        numbers = [(leader_at + 4 * n, 4 * n) for n in range(3)]
        numbers += [(replicas_at + 4 * n, HEAD_BYTES + 4 * n) for n in range(replicas)]
        numbers += [(isr_at + 4 * n, HEAD_BYTES + 4 * (2 * replicas + n)) for n in range(isr)]
        self.moves = [(source + byte, place + 3 - byte) for source, place in numbers for byte in range(4)]
        """Bytes of numbers: from a record, big end first, to a row, little end first."""
        free = {source for source, _ in self.moves}
        free |= set(range(self.index_at, self.topic_at + _ID_BYTES))
        free |= set(range(self.directories_at, self.directories_at + _ID_BYTES * replicas))
        free |= set(range(shape.offset_at, shape.offset_end))
        self.alike = [column for column in range(shape.size) if column not in free]


@lru_cache(maxsize=64)
def _layout(shape: _Shape) -> _Layout:
    return _Layout(shape)
