"""One partition, and how thousands of them are kept in few bytes.

`Partition` is what everybody reads: a frozen value made on demand. What is kept is a row of packed integers; up to 64
rows make a page, which is one `bytes` object: where each row begins and where the last one ends, four bytes each, then
the rows. The first of these numbers also says how many rows there are; those behind them are absent. A partition with
three replicas takes 61 bytes, where the dataclass with its tuples takes 364 (ADR 0001). Directory ids are kept as
numbers of a table that all images of one lineage share and that only grows. Nobody outside this package may know the
layout.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, pairwise
from struct import Struct
from typing import Final

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.values import dataclass

PAGE_SIZE: Final = 64
NO_LEADER: Final = -1
RECOVERED: Final = 0
RECOVERING: Final = 1

_OFFSETS: Final = tuple(Struct(f"<{count}I") for count in range(PAGE_SIZE + 2))
_IDS: Final = Struct("16s" * 64)
_TWO_OFFSETS: Final = Struct("<II")
HEAD_BYTES: Final = 20
_WIDE_HEAD_BYTES: Final = 27
_WIDE_COUNTS: Final = Struct("<7H")
_STATE: Final = 12
MAX_NARROW: Final = 0xFF
_WIDE: Final = 0x80
"""Set in the recovery state of a row whose lists are counted in two bytes each: more than 255 replicas."""

Row = bytes
"""A packed partition: leader, leader epoch, partition epoch, recovery state, seven counts, then the seven lists. b"" is
an absent one.
"""


@dataclass(frozen=True, slots=True)
class Partition:
    """The replicas of one partition and who leads it. `isr` is in the order of the log; no list holds a
    broker twice.
    """

    replicas: tuple[int, ...]
    directories: tuple[DirectoryId, ...]
    """One per replica; MIGRATING where the cluster does not know it (below metadata.version 3.7-IV2)."""
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: int = RECOVERED
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    def directory(self, broker_id: int) -> DirectoryId:
        """Where this replica lives. Raises ValueError when the broker is not a replica."""
        return self.directories[self.replicas.index(broker_id)]


class DirectoryTable:
    """Directory ids by number. Shared by every image of a lineage; a number never changes its meaning."""

    __slots__ = ("_ids", "_numbers")

    def __init__(self) -> None:
        self._ids: list[DirectoryId] = []
        self._numbers: dict[Uuid, int] = {}

    def number(self, directory: Uuid) -> int:
        found = self._numbers.get(directory)
        if found is None:
            found = self._numbers[directory] = len(self._ids)
            self._ids.append(DirectoryId(directory))
        return found

    def numbers(self, directories: Iterable[Uuid]) -> list[int]:
        return [self.number(directory) for directory in directories]

    def packed_numbers(self, directories: bytes) -> bytes:
        """Those of ids that lie one behind the other, as rows have them."""
        whole = len(directories) // _IDS.size * _IDS.size
        ids = [*chain.from_iterable(_IDS.iter_unpack(directories[:whole]))]
        ids += [directories[begin : begin + 16] for begin in range(whole, len(directories), 16)]
        try:
            numbers = array("i", map(self._numbers.__getitem__, ids))
        except KeyError:
            numbers = array("i", self.numbers(map(Uuid, ids)))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()

    def ids(self, numbers: Iterable[int]) -> tuple[DirectoryId, ...]:
        known = self._ids
        return tuple([known[number] for number in numbers])


@cache
def _layout(wide: int, numbers: int) -> Struct:
    """The whole row as one format: head, counts in one or two bytes each, then so many numbers."""
    return Struct(f"<iiiB7{'H' if wide else 'B'}{numbers}i")


def pack(
    leader: int,
    leader_epoch: int,
    partition_epoch: int,
    recovery_state: int,
    lists: tuple[
        Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int]
    ],
) -> Row:
    """A row from its parts; the lists are those of `Partition` in its order, directories as numbers of the table."""
    counts = tuple(map(len, lists))
    wide = _WIDE if max(counts) > MAX_NARROW else 0
    return _layout(wide, sum(counts)).pack(
        leader, leader_epoch, partition_epoch, recovery_state | wide, *counts, *chain.from_iterable(lists)
    )


def pack_row(partition: Partition, table: DirectoryTable) -> Row:
    return pack(
        partition.leader,
        partition.leader_epoch,
        partition.partition_epoch,
        partition.leader_recovery_state,
        (
            partition.replicas,
            table.numbers(partition.directories),
            partition.isr,
            partition.removing_replicas,
            partition.adding_replicas,
            partition.elr,
            partition.last_known_elr,
        ),
    )


@lru_cache(maxsize=1024)
def _places(counts: bytes) -> tuple[Struct, tuple[int, ...]]:
    """How the numbers of a row with these counts are read, and where among them each list begins and the last ends."""
    begins = tuple(accumulate(counts, initial=3))
    return Struct(f"<iii{1 + len(counts)}x{begins[-1] - 3}i"), begins


def unpack_row(row: Row, table: DirectoryTable) -> Partition:
    if row[_STATE] & _WIDE:
        counts = row[_STATE + 1 : _WIDE_HEAD_BYTES]
        begins = tuple(accumulate(_WIDE_COUNTS.unpack(counts), initial=3))
        layout = Struct(f"<iii{1 + len(counts)}x{begins[-1] - 3}i")
    else:
        layout, begins = _places(row[_STATE + 1 : HEAD_BYTES])
    numbers = layout.unpack(row)
    replicas, directories, isr, removing, adding, elr, last_known_elr, end = begins
    return Partition(
        replicas=numbers[replicas:directories],
        directories=table.ids(numbers[directories:isr]),
        isr=numbers[isr:removing],
        leader=numbers[0],
        leader_epoch=numbers[1],
        partition_epoch=numbers[2],
        leader_recovery_state=row[_STATE] & ~_WIDE,
        removing_replicas=numbers[removing:adding],
        adding_replicas=numbers[adding:elr],
        elr=numbers[elr:last_known_elr],
        last_known_elr=numbers[last_known_elr:end],
    )


def row_leader(row: Row) -> int:
    """The leader without unpacking the rest."""
    return int.from_bytes(row[:4], "little", signed=True)


def row_is_reassigning(row: Row) -> bool:
    """Whether replicas are being added or removed, without unpacking."""
    if row[_STATE] & _WIDE:
        return row[_STATE + 7 : _STATE + 11] != bytes(4)
    return row[_STATE + 4 : _STATE + 6] != bytes(2)


Page = bytes


@lru_cache(maxsize=1024)
def page_head(count: int, size: int) -> bytes:
    """Of a page whose rows, none absent, have all the same size."""
    begin = 4 * (count + 1)
    return _OFFSETS[count + 1].pack(*range(begin, begin + count * size + 1, size))


def pack_page(rows: Sequence[Row]) -> Page:
    """One page of up to PAGE_SIZE rows; rows that follow are absent."""
    count = len(rows)
    while count and not rows[count - 1]:
        count -= 1
    if not count:
        return b""
    sizes = list(map(len, rows[:count]))
    if min(sizes) == max(sizes):
        return b"".join((page_head(count, sizes[0]), *rows))
    return b"".join((_OFFSETS[count + 1].pack(*accumulate(sizes, initial=4 * (count + 1))), *rows))


def _offsets(page: Page) -> tuple[int, ...]:
    """Where its rows begin, and where the last one ends."""
    return _OFFSETS[int.from_bytes(page[:4], "little") // 4].unpack_from(page)


def page_rows(page: Page) -> list[Row]:
    """The rows of a page up to the last one that is there, absent ones as b""."""
    return [page[begin:end] for begin, end in pairwise(_offsets(page))] if page else []


def _place(page: Page, index: int) -> tuple[int, int]:
    """Where a row begins and ends, at the same byte if it is absent."""
    if not page or 4 * (index + 1) >= int.from_bytes(page[:4], "little"):
        return 0, 0
    begin, end = _TWO_OFFSETS.unpack_from(page, 4 * index)
    return begin, end


def with_row(page: Page, index: int, row: Row) -> Page | None:
    """The page with another row of the same length in this place; None when the place has another length."""
    begin, end = _place(page, index)
    return b"".join((page[:begin], row, page[end:])) if page and end - begin == len(row) else None


def page_row(page: Page, index: int) -> Row:
    begin, end = _place(page, index)
    return page[begin:end]


def page_mentions(page: Page, broker_id: int) -> bool:
    """False only if no row of the page holds this broker: a search for its four bytes, a gigabyte per second."""
    return broker_id.to_bytes(4, "little", signed=True) in page


def page_led_by(page: Page, broker_id: int) -> bool:
    """Whether this broker leads a partition of the page: rows begin with their leader."""
    leader = broker_id.to_bytes(4, "little", signed=True)
    return leader in [page[begin : begin + 4] for begin in _offsets(page)[:-1]] if page else False


def rows_with_ids(page: Page, first_id: int) -> Iterator[tuple[int, Row]]:
    for index, row in enumerate(page_rows(page)):
        if row:
            yield first_id + index, row
