"""One partition, and how thousands of them are kept in few bytes.

`Partition` is what everybody reads: a frozen value made on demand. What is kept is a row of packed integers; 64 rows
make a page, which is one `bytes` object: 65 offsets of four bytes, then the rows. A partition with three replicas takes
61 bytes, offset included, where the dataclass with its tuples takes 364 (ADR 0001). Directory ids are kept as numbers
of a table that all images of one lineage share and that only grows. Nobody outside this package may know the layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from struct import Struct
from typing import Final

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.values import dataclass

PAGE_SIZE: Final = 64
NO_LEADER: Final = -1
RECOVERED: Final = 0
RECOVERING: Final = 1

_OFFSETS: Final = Struct(f"<{PAGE_SIZE + 1}I")
_TWO_OFFSETS: Final = Struct("<II")
_HEAD_BYTES: Final = 20
_WIDE_HEAD_BYTES: Final = 27
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

    def __getitem__(self, number: int) -> DirectoryId:
        return self._ids[number]


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


def unpack_row(row: Row, table: DirectoryTable) -> Partition:
    wide = row[_STATE] & _WIDE
    size = len(row) - (_WIDE_HEAD_BYTES if wide else _HEAD_BYTES)
    leader, leader_epoch, partition_epoch, state, *rest = _layout(wide, size // 4).unpack(row)
    lists, position = [], 7
    for count in rest[:7]:
        lists.append(tuple(rest[position : position + count]))
        position += count
    replicas, directories, isr, removing, adding, elr, last_known_elr = lists
    return Partition(
        replicas=replicas,
        directories=tuple([table[number] for number in directories]),
        isr=isr,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        leader_recovery_state=state & ~_WIDE,
        removing_replicas=removing,
        adding_replicas=adding,
        elr=elr,
        last_known_elr=last_known_elr,
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


def pack_page(rows: Sequence[Row]) -> Page:
    """One page of up to PAGE_SIZE rows; rows that follow are absent."""
    offsets, position = [], 0
    for row in rows:
        offsets.append(position)
        position += len(row)
    offsets.extend([position] * (PAGE_SIZE + 1 - len(rows)))
    return _OFFSETS.pack(*offsets) + b"".join(rows)


def page_rows(page: Page) -> list[Row]:
    """The rows of a page, absent ones as b""."""
    if not page:
        return [b""] * PAGE_SIZE
    offsets = _OFFSETS.unpack_from(page)
    start = _OFFSETS.size
    return [page[start + offsets[i] : start + offsets[i + 1]] for i in range(PAGE_SIZE)]


def with_row(page: Page, index: int, row: Row) -> Page | None:
    """The page with another row of the same length in this place; None when the place has another length."""
    if not page:
        return None
    begin, end = _TWO_OFFSETS.unpack_from(page, 4 * index)
    if end - begin != len(row):
        return None
    start = _OFFSETS.size
    return b"".join((page[: start + begin], row, page[start + end :]))


def page_row(page: Page, index: int) -> Row:
    if not page:
        return b""
    begin, end = _TWO_OFFSETS.unpack_from(page, 4 * index)
    return page[_OFFSETS.size + begin : _OFFSETS.size + end]


def page_mentions(page: Page, broker_id: int) -> bool:
    """False only if no row of the page holds this broker: a search for its four bytes, a gigabyte per second."""
    return broker_id.to_bytes(4, "little", signed=True) in page


def page_led_by(page: Page, broker_id: int) -> bool:
    """Whether this broker leads a partition of the page: rows begin with their leader."""
    leader, rows = broker_id.to_bytes(4, "little", signed=True), page[_OFFSETS.size :]
    return leader in [rows[begin : begin + 4] for begin in _OFFSETS.unpack_from(page)]


def rows_with_ids(page: Page, first_id: int) -> Iterator[tuple[int, Row]]:
    for index, row in enumerate(page_rows(page)):
        if row:
            yield first_id + index, row
