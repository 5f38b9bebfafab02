"""Which transactions of a log were aborted, beside the segment that has their marker: Kafka's `.txnindex` files.

An entry is written when the marker is appended: so entries are in the order of markers. Readers of committed records
get those that lie in what they read. The file of a segment without aborted transactions is not there.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem, read_whole
from controller_runtime.storage.log.disk_work import DiskTask, RemoveFiles, WriteIndexEntries
from controller_runtime.storage.log.segment import Segment

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """From its first batch to its marker. `last_stable_offset`: below it no other transaction was open then."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def aborted_by(producers: Mapping[int, ProducerEntry], marker: BatchHeader) -> AbortedTransaction | None:
    """What an abort marker ends; None: its producer has no open transaction. Asked before the marker is noted."""
    entry = producers.get(marker.producer_id)
    if entry is None or entry.transaction_first_offset < 0:
        return None
    others = (
        each.transaction_first_offset
        for each in producers.values()
        if each is not entry and each.transaction_first_offset >= 0
    )
    stable = min(others, default=marker.next_offset)
    return AbortedTransaction(marker.producer_id, entry.transaction_first_offset, marker.last_offset, stable)


def encode_aborted(entries: Sequence[AbortedTransaction]) -> bytes:
    return b"".join(_ENTRY.pack(_VERSION, *each) for each in entries)


def decode_aborted(data: bytes) -> list[AbortedTransaction]:
    """Whole entries; a torn one at the end is not there. Raises ValueError for other versions."""
    found = list(_ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]))
    if any(version != _VERSION for version, *_ in found):
        raise ValueError("an entry of another version")
    return [AbortedTransaction(*rest) for _, *rest in found]


class AbortedIndexes:
    """Those of one log. What was read is kept: it grows by what is appended."""

    def __init__(self, filesystem: FileSystem) -> None:
        self._filesystem = filesystem
        self._known: dict[str, list[AbortedTransaction]] = {}

    def of(self, segment: Segment) -> list[AbortedTransaction]:
        path = segment.path_of(file_names.TRANSACTION_INDEX)
        found = self._known.get(path)
        if found is None:
            data = read_whole(self._filesystem, path) if self._filesystem.exists(path) else b""
            try:
                found = self._known[path] = decode_aborted(data)
            except ValueError as error:
                raise CorruptFile(path, str(error), 0) from error
        return found

    def add(self, segment: Segment, aborted: AbortedTransaction) -> WriteIndexEntries:
        known = self.of(segment)
        known.append(aborted)
        path = segment.path_of(file_names.TRANSACTION_INDEX)
        return WriteIndexEntries(path, (len(known) - 1) * _ENTRY.size, encode_aborted([aborted]))

    def put(self, segment: Segment, entries: Sequence[AbortedTransaction]) -> DiskTask | None:
        """These and no others; None: it has just these."""
        if self.of(segment) == list(entries):
            return None
        path = segment.path_of(file_names.TRANSACTION_INDEX)
        self._known[path] = list(entries)
        if not entries:
            return RemoveFiles(segment.directory, (path.rpartition("/")[2],))
        return WriteIndexEntries(path, 0, encode_aborted(entries))

    def cut(self, segment: Segment, end_offset: int) -> DiskTask | None:
        """Markers from `end_offset` on are not in the log any more."""
        return self.put(segment, [each for each in self.of(segment) if each.last_offset < end_offset])

    def forget(self, segments: Sequence[Segment] = ()) -> None:
        """Files are not what they were: of these segments, or of any."""
        if not segments:
            self._known.clear()
        for segment in segments:
            self._known.pop(segment.path_of(file_names.TRANSACTION_INDEX), None)

    def of_read(self, segments: Sequence[Segment], at: int, offset: int, size: int) -> tuple[AbortedTransaction, ...]:
        """Those that concern who has read `size` bytes from `offset`, which segment `at` holds if any does."""
        found = segments[at].find(offset, segments[at].size)
        while found is None and at + 1 < len(segments):
            at += 1
            found = segments[at].find(offset, segments[at].size)
        position = segments[at].size if found is None else found.position
        return self.between(segments[at:], offset, upper_bound(segments, at, position, size))

    def between(self, segments: Sequence[Segment], offset: int, before: int) -> tuple[AbortedTransaction, ...]:
        """Those that have something in [offset, before), of segments from that of `offset` on. A transaction that has
        its marker later is in a later segment's index, unless the entry says that none can be.
        """
        out: list[AbortedTransaction] = []
        for segment in segments:
            known = self.of(segment)
            for each in known:
                if each.last_offset >= offset and each.first_offset < before:
                    out.append(each)
                if each.last_stable_offset >= before:
                    return tuple(out)
        return tuple(out)


def upper_bound(segments: Sequence[Segment], at: int, position: int, size: int) -> int:
    """An offset behind what was read: the index's guess for `size` bytes from `position` of a segment, as Kafka's."""
    index = segments[at].indexes.offset
    place = bisect_left(index.positions, position + size)
    if place < len(index.positions):
        return index.base_offset + index.offsets[place]
    return segments[at + 1].base_offset if at + 1 < len(segments) else segments[-1].end_offset
