"""Topics and their partitions: immutable, found by id and by name, packed in pages.

A `TopicImage` holds a tuple of pages (see `partitions`); changing one partition makes one new page. `TopicsBuilder`
unpacks the pages it touches and packs them again when more than a bounded number is open, so replaying a million
partitions never holds a million of Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.partitions import (
    PAGE_SIZE,
    DirectoryTable,
    Page,
    Partition,
    Row,
    pack_page,
    pack_row,
    page_head,
    page_led_by,
    page_mentions,
    page_row,
    page_rows,
    row_is_reassigning,
    row_leader,
    rows_with_ids,
    unpack_row,
    with_row,
)
from controller_runtime.metadata.sharded import ShardedMap
from controller_runtime.values import dataclass, field

_OPEN_PAGES: Final = 256
"""How many unpacked pages a builder holds at most."""


@dataclass(frozen=True, slots=True, eq=False)
class TopicImage:
    """One topic. Equal when name, id and every partition are equal."""

    name: str
    id: Uuid
    partition_count: int
    _pages: tuple[Page, ...]
    _table: DirectoryTable

    def partition(self, index: int) -> Partition | None:
        page = index // PAGE_SIZE
        if not 0 <= page < len(self._pages):
            return None
        row = page_row(self._pages[page], index % PAGE_SIZE)
        return unpack_row(row, self._table) if row else None

    def leader(self, index: int) -> int | None:
        """The leader (-1: none) without unpacking the partition; None when there is no such partition."""
        page = index // PAGE_SIZE
        row = page_row(self._pages[page], index % PAGE_SIZE) if 0 <= page < len(self._pages) else b""
        return row_leader(row) if row else None

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        """(index, partition), ascending."""
        for number, page in enumerate(self._pages):
            for index, row in rows_with_ids(page, number * PAGE_SIZE):
                yield index, unpack_row(row, self._table)

    def partitions_naming(self, broker_id: int) -> Iterator[tuple[int, Partition]]:
        """The partitions that have this broker among replicas, ISR, ELR, or as leader. -1 finds those
        without a leader. An ELR may name one that is a replica no more: a reassignment does not clear it.
        """
        for number, page in enumerate(self._pages):
            if not page_mentions(page, broker_id):
                continue
            for index, row in rows_with_ids(page, number * PAGE_SIZE):
                partition = unpack_row(row, self._table)
                if (
                    broker_id == partition.leader
                    or broker_id in partition.replicas
                    or broker_id in partition.elr
                    or broker_id in partition.last_known_elr
                ):
                    yield index, partition

    def is_led_by(self, broker_id: int) -> bool:
        """Whether this broker leads any of the partitions."""
        return any(page_mentions(page, broker_id) and page_led_by(page, broker_id) for page in self._pages)

    def reassigning(self) -> Iterator[tuple[int, Partition]]:
        """The partitions whose replicas are being exchanged."""
        for number, page in enumerate(self._pages):
            for index, row in rows_with_ids(page, number * PAGE_SIZE):
                if row_is_reassigning(row):
                    yield index, unpack_row(row, self._table)

    def changes_since(self, before: TopicImage | None) -> Iterator[tuple[int, Partition]]:
        """Partitions that are new or differ from an older image of this topic, ascending. Partitions never vanish from
        a topic.
        """
        old_pages = () if before is None else before._pages
        same_table = before is not None and before._table is self._table
        for number, page in enumerate(self._pages):
            old = old_pages[number] if number < len(old_pages) and same_table else b""
            if old is page:
                continue
            for index, row in rows_with_ids(page, number * PAGE_SIZE):
                if row != page_row(old, index % PAGE_SIZE):
                    yield index, unpack_row(row, self._table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicImage):
            return NotImplemented
        if (self.name, self.id, self.partition_count) != (other.name, other.id, other.partition_count):
            return False
        if self._table is other._table and self._pages == other._pages:
            return True
        return all(mine == theirs for mine, theirs in zip(self.partitions(), other.partitions(), strict=True))

    def __hash__(self) -> int:
        return hash((self.name, self.id))


@dataclass(frozen=True, slots=True)
class TopicsImage:
    by_id: ShardedMap[Uuid, TopicImage] = field(default_factory=ShardedMap)
    ids: ShardedMap[str, Uuid] = field(default_factory=ShardedMap)
    """Topic ids by name."""
    partition_count: int = 0
    table: DirectoryTable = field(default_factory=DirectoryTable, compare=False, repr=False)

    def get(self, topic_id: Uuid) -> TopicImage | None:
        return self.by_id.get(topic_id)

    def named(self, name: str) -> TopicImage | None:
        found = self.ids.get(name)
        return None if found is None else self.by_id[found]

    def partition(self, topic_id: Uuid, index: int) -> Partition | None:
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partition(index)

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[TopicImage]:
        return iter(self.by_id.values())

    def leads_any(self, broker_id: int) -> bool:
        """By the leaders alone: nothing is unpacked."""
        return any(topic.is_led_by(broker_id) for topic in self)

    def changes_since(self, before: TopicsImage) -> Iterator[tuple[TopicImage | None, TopicImage | None]]:
        """(old, new) of every topic that was created, changed or deleted since an older image."""
        for _, old, new in self.by_id.changes_since(before.by_id):
            yield old, new


class _OpenTopic:
    """A topic under construction: its pages, some of them unpacked."""

    __slots__ = ("count", "id", "name", "open", "pages")

    def __init__(self, name: str, topic_id: Uuid, pages: tuple[Page, ...] = (), count: int = 0) -> None:
        self.name, self.id, self.pages, self.count = name, topic_id, list(pages), count
        self.open: dict[int, list[Row]] = {}

    def row(self, page: int, slot: int) -> Row:
        rows = self.open.get(page)
        if rows is not None:
            return rows[slot] if slot < len(rows) else b""
        return page_row(self.pages[page], slot) if 0 <= page < len(self.pages) else b""

    def rows(self, page: int, least: int) -> list[Row]:
        """So many rows at least."""
        found = self.open.get(page)
        if found is None:
            while len(self.pages) <= page:
                self.pages.append(b"")
            found = self.open[page] = page_rows(self.pages[page])
        if len(found) < least:
            found += [b""] * (least - len(found))
        return found

    def append(self, page: int, slot: int, rows: bytes, size: int) -> bool:
        """Put rows of one size behind all others. False: they are not the next ones, or the others are not like them;
        nothing is done.
        """
        count = slot + len(rows) // size
        if page in self.open or page != len(self.pages) - bool(slot):
            return False
        if not slot:
            self.pages.append(page_head(count, size) + rows)
        else:
            head, before = page_head(slot, size), self.pages[page]
            if len(before) != len(head) + slot * size or not before.startswith(head):
                return False
            self.pages[page] = b"".join((page_head(count, size), before[len(head) :], rows))
        self.count += count - slot
        return True

    def pack(self) -> None:
        for number, rows in self.open.items():
            self.pages[number] = pack_page(rows)


class TopicsBuilder:
    """Collects changes to topics; `freeze` gives the next image, which shares every topic that was not touched."""

    __slots__ = ("_base", "_by_id", "_ids", "_open", "_open_pages", "_partitions", "_view", "table")

    def __init__(self, base: TopicsImage) -> None:
        self._base = base
        self._by_id = base.by_id.builder()
        self._ids = base.ids.builder()
        self.table = base.table
        self._partitions = base.partition_count
        self._open: dict[Uuid, _OpenTopic] = {}
        self._open_pages = 0
        """At most so many, since they were packed the last time."""
        self._view: TopicsImage | None = None

    def __contains__(self, topic_id: Uuid) -> bool:
        return topic_id in self._open or topic_id in self._by_id

    def id_of(self, name: str) -> Uuid | None:
        return self._ids.get(name)

    def create(self, name: str, topic_id: Uuid) -> None:
        self._ids[name] = topic_id
        self._open[topic_id] = _OpenTopic(name, topic_id)

    def remove(self, topic_id: Uuid) -> str | None:
        """Remove a topic and return its name; None when there is none."""
        opened = self._open.pop(topic_id, None)
        topic = self._by_id.pop(topic_id)
        if opened is not None:
            name, count = opened.name, opened.count
        elif topic is not None:
            name, count = topic.name, topic.partition_count
        else:
            return None
        self._partitions -= count
        if self._ids.get(name) == topic_id:
            del self._ids[name]
        return name

    def partition(self, topic_id: Uuid, index: int) -> Partition | None:
        opened = self._open.get(topic_id)
        if opened is None:
            topic = self._by_id.get(topic_id)
            return None if topic is None else topic.partition(index)
        row = opened.row(*divmod(index, PAGE_SIZE))
        return unpack_row(row, self.table) if row else None

    def put(self, topic_id: Uuid, index: int, partition: Partition) -> None:
        """Set one partition of a topic that exists."""
        self.put_row(topic_id, index, pack_row(partition, self.table))

    def put_row(self, topic_id: Uuid, index: int, row: Row) -> None:
        """Set one partition, packed with `table`."""
        opened = self._open.get(topic_id) or self._reopen(topic_id)
        page, slot = divmod(index, PAGE_SIZE)
        if page not in opened.open and page < len(opened.pages):
            spliced = with_row(opened.pages[page], slot, row)
            if spliced is not None:
                opened.pages[page] = spliced
                return
        before = len(opened.open)
        rows = opened.rows(page, slot + 1)
        self._open_pages += len(opened.open) - before
        if not rows[slot]:
            opened.count += 1
            self._partitions += 1
        rows[slot] = row
        if self._open_pages > _OPEN_PAGES:
            self._pack()

    def put_rows(self, topic_id: Uuid, first: int, count: int, rows: bytes) -> None:
        """Set consecutive partitions whose rows, packed with `table`, have all the same size."""
        opened = self._open.get(topic_id) or self._reopen(topic_id)
        size = len(rows) // count
        done = 0
        while done < count:
            page, slot = divmod(first + done, PAGE_SIZE)
            more = min(PAGE_SIZE - slot, count - done)
            piece = rows[done * size : (done + more) * size]
            if not opened.append(page, slot, piece, size):
                for index in range(more):
                    self.put_row(topic_id, first + done + index, piece[index * size : (index + 1) * size])
                opened = self._open.get(topic_id) or self._reopen(topic_id)
            else:
                self._partitions += more
            done += more
        self._open_pages += 1
        if self._open_pages > _OPEN_PAGES:
            self._pack()

    def view(self) -> TopicsImage:
        """What `freeze` would give; it changes with the next write, and nobody may hold it beyond the next `freeze`."""
        self._pack()
        if self._view is None:
            self._view = TopicsImage(self._by_id.view(), self._ids.view(), self._partitions, self.table)
        elif self._view.partition_count != self._partitions:
            object.__setattr__(self._view, "partition_count", self._partitions)
        return self._view

    def freeze(self) -> TopicsImage:
        self._pack()
        if self._ids.freeze() is self._base.ids and self._by_id.freeze() is self._base.by_id:
            return self._base
        self._base = TopicsImage(self._by_id.freeze(), self._ids.freeze(), self._partitions, self.table)
        return self._base

    def _reopen(self, topic_id: Uuid) -> _OpenTopic:
        topic = self._by_id.get(topic_id)
        assert topic is not None, f"no topic {topic_id}"
        opened = self._open[topic_id] = _OpenTopic(topic.name, topic.id, topic._pages, topic.partition_count)
        return opened

    def _pack(self) -> None:
        if not self._open:
            return
        for topic in self._open.values():
            if topic.open:
                topic.pack()
            self._by_id[topic.id] = TopicImage(topic.name, topic.id, topic.count, tuple(topic.pages), self.table)
        self._open.clear()
        self._open_pages = 0
