"""A partition of a topic, and what a broker knows of its log while that is open, whatever its part in it.

`end_offset` is where the next batch will go; `written_offset` is where the log ends on the disk, for a batch is decided
before it is written; below `high_watermark` every replica in sync has what is written, and only that is shown to
readers.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import ProducerEntry
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
