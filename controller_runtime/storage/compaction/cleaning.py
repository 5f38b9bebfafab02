"""The cleaning of one log, piece by piece: survey, map of keys, new segments, and their swaps.

Nothing of the log changes before a swap, and each swap is one step: whoever reads sees the old segments or the new one.
Appends go on meanwhile. If the segments that are being cleaned are not those of the log any more (it was cut, begins
later, was closed), what was made of them is dropped.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Final, Protocol

from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.storage.compaction import swaps
from controller_runtime.storage.compaction.batch_filter import Cleaning, note_keys
from controller_runtime.storage.compaction.cleanable import grouped
from controller_runtime.storage.compaction.offset_map import SLOT_BYTES, OffsetMap
from controller_runtime.storage.compaction.reading import batches_of
from controller_runtime.storage.compaction.transactions import CleanedTransactions, Survey, marker_of
from controller_runtime.storage.file_names import CLEANED, TRANSACTION_INDEX
from controller_runtime.storage.filesystem import File, FileSystem, read_whole
from controller_runtime.storage.log.batches import parse_batch
from controller_runtime.storage.log.config import CleanupRules, LogConfig
from controller_runtime.storage.log.segment import Segment
from controller_runtime.values import dataclass

_SYNC_BYTES: Final = 16 << 20
"""A sync of more would be a long step."""
_TRANSACTION_ENTRY: Final = 34
Pieces = Generator[int, None, None]
"""A piece ends: how many bytes it has read and written."""


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Kafka's `log.cleaner.dedupe.buffer.size`, and `load.factor` and `size` of `log.cleaner.io.buffer`."""

    map_bytes: int = 128 << 20
    load_factor: float = 0.9
    piece_bytes: int = 512 << 10


class CleanedLog(Protocol):
    """What is asked of a log: a `PartitionLog` answers."""

    @property
    def filesystem(self) -> FileSystem: ...
    @property
    def segments(self) -> tuple[Segment, ...]: ...
    @property
    def producers(self) -> Mapping[int, ProducerEntry]: ...
    @property
    def config(self) -> LogConfig: ...
    @property
    def rules(self) -> CleanupRules: ...
    @property
    def losses(self) -> int: ...
    def new_segment(self, base_offset: int) -> Segment: ...
    def replace(self, old: Sequence[Segment], new: Segment) -> None: ...


class LogCleaning:
    def __init__(
        self,
        log: CleanedLog,
        first_dirty: int,
        limit: int,
        *,
        high_watermark: int,
        now_ms: int,
        settings: CleanerSettings,
    ) -> None:
        """Clean up to `limit`, where a segment begins, below the last stable offset."""
        self._log = log
        self._segments: Final = log.segments
        self._first_dirty = first_dirty
        self._limit = limit
        self._high_watermark = high_watermark
        self._now_ms = now_ms
        self._settings = settings
        self.end_offset = first_dirty
        """How far the log is clean now."""

    def pieces(self) -> Pieces:
        """Raises what reading and writing raises; nothing is left of what was not finished."""
        losses, steps = self._log.losses, self._steps()
        try:
            while self._log.losses == losses and (io_bytes := next(steps, None)) is not None:
                yield io_bytes
        finally:
            steps.close()

    def _steps(self) -> Pieces:
        survey = Survey()
        count = yield from self._survey(survey)
        if survey.open:  # Not all of their markers are everywhere yet: it will be clean up to there, no further.
            unstable = min(survey.open.values())
            below = [each.base_offset for each in self._segments if each.base_offset <= unstable]
            self._limit = min(self._limit, max(below, default=0))
        if self._limit <= self._first_dirty:
            return
        most = int(self._settings.map_bytes // SLOT_BYTES * self._settings.load_factor)
        found = OffsetMap(min(count, most), self._settings.load_factor)
        yield from self._build_map(found, survey)
        cleaning = Cleaning(
            found=found,
            transactions=CleanedTransactions(survey.aborted),
            producers={each: entry.copy() for each, entry in self._log.producers.items()},
            limit=self._limit,
            now_ms=self._now_ms,
            delete_retention_ms=self._log.rules.delete_retention_ms,
        )
        to_clean = [each for each in self._segments if each.base_offset <= min(found.latest, self._limit - 1)]
        for group in grouped(to_clean, self._log.config, self._limit):
            yield from self._clean_group(group, cleaning)
        self.end_offset = max(self._first_dirty, found.latest + 1)

    def _survey(self, survey: Survey) -> Generator[int, None, int]:
        """Pair transactions with their markers; how many records there are whose keys count."""
        count = 0
        for segment in self._segments:
            if segment.base_offset >= self._limit and not survey.open:
                break
            for batches in batches_of(segment, 0, self._settings.piece_bytes):
                for header, data in batches:
                    is_cleaned = header.base_offset < self._limit
                    if header.base_offset >= self._high_watermark or not (is_cleaned or survey.open):
                        break
                    if is_cleaned or header.is_control:
                        survey.note(header, marker_of(header, data) if header.is_control else None)
                    if is_cleaned and header.last_offset >= self._first_dirty and not header.is_control:
                        count += header.record_count
                yield sum(len(data) for _, data in batches)
        return count

    def _build_map(self, found: OffsetMap, survey: Survey) -> Pieces:
        """Up to the limit, or until it is full."""
        coming = [one for one in survey.aborted if one.last_offset >= self._first_dirty]
        transactions = CleanedTransactions(coming)
        ends = [*(each.base_offset for each in self._segments[1:]), self._limit]
        for segment, end in zip(self._segments, ends, strict=True):
            if end <= self._first_dirty or segment.base_offset >= self._limit:
                continue
            position = segment.indexes.offset.lookup(self._first_dirty)
            for batches in batches_of(segment, position, self._settings.piece_bytes):
                for header, data in batches:
                    if not note_keys(header, data, found, transactions, self._first_dirty):
                        return
                yield sum(len(data) for _, data in batches)
            found.latest = max(found.latest, end - 1)  # Compaction left no batch behind the last one.

    def _clean_group(self, group: Sequence[Segment], cleaning: Cleaning) -> Pieces:
        new = CleanedSegment(self._log, group[0].base_offset)
        try:
            for segment in group:
                for batches in batches_of(segment, 0, self._settings.piece_bytes):
                    kept = [left for header, data in batches if (left := cleaning.left_of(header, data))]
                    yield sum(len(data) for _, data in batches) + new.add(kept)
            yield from new.finish(group, cleaning.transactions)
            self._log.replace(group, new.segment)
            new.is_taken = True
        finally:
            new.close()


class CleanedSegment:
    """What becomes of a group: written as `.cleaned`, removed again unless it is taken."""

    def __init__(self, log: CleanedLog, base_offset: int) -> None:
        self._filesystem: Final = log.filesystem
        self.segment: Final = log.new_segment(base_offset)
        self.is_taken = False
        self._unsynced = 0
        self._remove()
        self._file: Final = self._filesystem.open(self.segment.path + CLEANED, create=True)

    def add(self, batches: Sequence[bytes]) -> int:
        """How many bytes were written."""
        data = b"".join(batches)
        if data:
            segment, begins = self.segment, self.segment.size
            for batch in batches:
                header = parse_batch(batch, 0, segment.size)
                assert not isinstance(header, str), f"{segment.path}: written by us: {header}"
                segment.add(header)
            self._file.write_at(begins, data)
            self._unsynced += len(data)
            if self._unsynced >= _SYNC_BYTES:
                self._file.fdatasync()
                self._unsynced = 0
        return len(data)

    def finish(self, group: Sequence[Segment], transactions: CleanedTransactions) -> Pieces:
        """All of it is durable then."""
        segment, filesystem = self.segment, self._filesystem
        self._file.fdatasync()
        yield 0
        segment.indexes.close()
        files = [(path, data) for path, _, data in segment.new_index_entries(anew=True)]
        if (entries := self._aborted_entries(group, transactions)) is not None:
            files.append((segment.path_of(TRANSACTION_INDEX), entries))
        for path, data in files:
            _write(filesystem.open(path + CLEANED, create=True), data)
        segment.indexes_unsynced = False
        filesystem.set_modified(segment.path + CLEANED, filesystem.modified_ms(group[-1].path))
        filesystem.sync_directory(segment.directory)
        yield sum(len(data) for _, data in files)

    def _aborted_entries(self, group: Sequence[Segment], transactions: CleanedTransactions) -> bytes | None:
        """Of the indexes of aborted transactions what still has a batch; None: there is no such index."""
        paths = [each.path_of(TRANSACTION_INDEX) for each in group]
        found = [read_whole(self._filesystem, path) for path in paths if self._filesystem.exists(path)]
        if not found:
            return None
        data = b"".join(each[: len(each) // _TRANSACTION_ENTRY * _TRANSACTION_ENTRY] for each in found)
        entries = [data[at : at + _TRANSACTION_ENTRY] for at in range(0, len(data), _TRANSACTION_ENTRY)]
        return b"".join(each for each in entries if _producer_and_marker(each) in transactions.kept)

    def close(self) -> None:
        self._file.close()
        if not self.is_taken:
            self._remove()

    def _remove(self) -> None:
        for suffix in swaps.OF_CLEANED:
            path = self.segment.path_of(suffix) + CLEANED
            if self._filesystem.exists(path):
                self._filesystem.remove(path)


def _write(file: File, data: bytes) -> None:
    try:
        if data:
            file.write_at(0, data)
        file.fdatasync()
    finally:
        file.close()


def _producer_and_marker(entry: bytes) -> tuple[int, int]:
    """Version, producer, first offset, marker, last stable offset."""
    return int.from_bytes(entry[2:10], "big"), int.from_bytes(entry[18:26], "big")
