"""A partition of a topic, and what a broker knows of its log while that is open, whatever its part in it.

`end_offset` is where the next batch will go; `written_offset` is where the log ends on the disk, for a batch is decided
before it is written; below `high_watermark` every replica in sync has what is written, and only that is shown to
readers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from controller_runtime.broker.unstable_offsets import UnstableOffsets
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import NO_PRODUCER, ProducerEntry, expired, note_batch
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.values import dataclass, field

NO_OFFSET: Final = -1
NO_EPOCH: Final = -1


@dataclass(slots=True)
class OpenLog:
    """Offsets are exclusive at ends."""

    key: PartitionId
    topic: str
    start_offset: int
    end_offset: int
    written_offset: int
    high_watermark: int
    epoch_starts: list[tuple[int, int]] = field(default_factory=list)
    producers: dict[int, ProducerEntry] = field(default_factory=dict)
    directory_id: DirectoryId | None = None
    """Where it lies."""
    unstable: UnstableOffsets = field(init=False)

    def __post_init__(self) -> None:
        self.unstable = UnstableOffsets.of(self.producers)

    @property
    def last_stable_offset(self) -> int:
        """Up to where it may be read by who wants only what is committed."""
        first = self.unstable.first(self.high_watermark)
        return self.high_watermark if first is None else min(self.high_watermark, max(first, self.start_offset))

    def note(self, header: BatchHeader, coordinator_epoch: int | None = None) -> None:
        """What a batch that goes to its end says of its producer. `coordinator_epoch`: of a marker."""
        if header.producer_id <= NO_PRODUCER:
            return
        entry = self.producers.get(header.producer_id)
        before = -1 if entry is None else entry.transaction_first_offset
        note_batch(self.producers, header, coordinator_epoch)
        if header.is_transactional:
            after = self.producers[header.producer_id].transaction_first_offset
            self.unstable.note(before, after, header.last_offset)

    def forget_producers(self, producer_ids: Iterable[int], before_ms: int) -> None:
        """Those of them that have not written since."""
        found = {each: self.producers[each] for each in producer_ids if each in self.producers}
        for producer_id in expired(found, before_ms):
            del self.producers[producer_id]

    def take_what_is_left(
        self, epoch_starts: Iterable[tuple[int, int]], producers: Mapping[int, ProducerEntry]
    ) -> None:
        """All that the log says of epochs and producers, after it was cut."""
        self.epoch_starts = list(epoch_starts)
        self.producers = dict(producers)
        self.unstable = UnstableOffsets.of(self.producers)

    def written(self, end_offset: int) -> None:
        """The disk holds everything below."""
        assert self.written_offset <= end_offset <= self.end_offset, f"{self.key}: written to {end_offset}"
        self.written_offset = end_offset

    def begin_at(self, start: int) -> None:
        """Nothing below is kept: the epoch that wrote what lies at `start` is known from there on."""
        assert self.start_offset <= start <= self.written_offset, f"{self.key}: begin at {start}"
        self.start_offset = start
        first = bisect_right(self.epoch_starts, start, key=lambda entry: entry[1]) - 1
        if first >= 0:
            self.epoch_starts[: first + 1] = [(self.epoch_starts[first][0], start)]

    def begin_epoch(self, epoch: int, start: int) -> None:
        """An epoch that wrote nothing is forgotten for the next."""
        if self.epoch_starts and self.epoch_starts[-1][0] >= epoch:
            return
        while self.epoch_starts and self.epoch_starts[-1][1] >= start:
            self.epoch_starts.pop()
        self.epoch_starts.append((epoch, start))

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that wrote `offset`; -1 before the first."""
        at = bisect_right(self.epoch_starts, offset, key=lambda entry: entry[1]) - 1
        return self.epoch_starts[at][0] if at >= 0 else NO_EPOCH


def check_epoch(known: int, epoch: int) -> ErrorCode:
    """What a client's idea of the leader epoch is worth; -1: it has none."""
    if known in (NO_EPOCH, epoch):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if known < epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
