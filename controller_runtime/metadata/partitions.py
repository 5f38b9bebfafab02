"""One partition, and how thousands of them are kept in few bytes.

`Partition` is what everybody reads: a frozen value made on demand. What is kept is a row of packed integers; 64 rows make a page, which is
one `bytes` object: 65 offsets of four bytes, then the rows. A partition with three replicas takes 60 bytes, offset included, where the
dataclass with its tuples takes some 700. Directory ids are kept as numbers of a table that all images of one lineage share and that only
grows. Nobody outside this package may know the layout.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from struct import Struct
from typing import Final

from controller_runtime.identifiers import DirectoryId
from controller_runtime.metadata.cluster import MIGRATING

PAGE_SIZE: Final = 64
NO_LEADER: Final = -1
RECOVERED: Final = 0
RECOVERING: Final = 1

_OFFSETS: Final = Struct(f"<{PAGE_SIZE + 1}I")
_TWO_OFFSETS: Final = Struct("<II")
_HEAD: Final = Struct("<iiiB7B")
_WIDE_HEAD: Final = Struct("<iiiB7H")
_WIDE: Final = 0x80
"""Set in the recovery state of a row whose lists are counted in two bytes each: more than 255 replicas."""

Row = bytes
"""A packed partition: leader, leader epoch, partition epoch, recovery state, seven counts, then the seven lists. b"" is an absent one."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The replicas of one partition and who leads it. `isr` is in the order of the log; no list holds a broker twice."""

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
        position = self.replicas.index(broker_id)
        return self.directories[position] if position < len(self.directories) else MIGRATING


class DirectoryTable:
    """Directory ids by number. Shared by every image of a lineage; a number never changes its meaning."""

    __slots__ = ("_ids", "_numbers")

    def __init__(self) -> None:
        self._ids: list[DirectoryId] = []
        self._numbers: dict[DirectoryId, int] = {}

    def number(self, directory: DirectoryId) -> int:
        found = self._numbers.get(directory)
        if found is None:
            found = self._numbers[directory] = len(self._ids)
            self._ids.append(directory)
        return found

    def __getitem__(self, number: int) -> DirectoryId:
        return self._ids[number]


def pack_row(partition: Partition, table: DirectoryTable) -> Row:
    lists = (
        partition.replicas,
        tuple(map(table.number, partition.directories)),
        partition.isr,
        partition.removing_replicas,
        partition.adding_replicas,
        partition.elr,
        partition.last_known_elr,
    )
    counts = tuple(map(len, lists))
    wide = max(counts) > 0xFF
    state = partition.leader_recovery_state | (_WIDE if wide else 0)
    head = (_WIDE_HEAD if wide else _HEAD).pack(
        partition.leader, partition.leader_epoch, partition.partition_epoch, state, *counts
    )
    return head + array("i", chain.from_iterable(lists)).tobytes()


def unpack_row(row: Row, table: DirectoryTable) -> Partition:
    head = _WIDE_HEAD if row[12] & _WIDE else _HEAD
    leader, leader_epoch, partition_epoch, state, *counts = head.unpack_from(row)
    numbers = tuple(array("i", row[head.size :]))
    lists, position = [], 0
    for count in counts:
        lists.append(numbers[position : position + count])
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


Page = bytes
EMPTY_PAGE: Final[Page] = b""


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


def page_row(page: Page, index: int) -> Row:
    if not page:
        return b""
    begin, end = _TWO_OFFSETS.unpack_from(page, 4 * index)
    return page[_OFFSETS.size + begin : _OFFSETS.size + end]


def page_mentions(page: Page, broker_id: int) -> bool:
    """False only if no row of the page holds this broker: a search for its four bytes, a gigabyte per second."""
    return broker_id.to_bytes(4, "little", signed=True) in page


def rows_with_ids(page: Page, first_id: int) -> Iterator[tuple[int, Row]]:
    for index, row in enumerate(page_rows(page)):
        if row:
            yield first_id + index, row
