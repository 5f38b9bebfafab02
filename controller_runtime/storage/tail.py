"""The newest batches of a log, held in memory: everything that is not flushed, and some of what is.

The bases, places and bytes lie in three lists in step, so that a lookup bisects and the front is dropped in bulk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage.log.segment import Segment
from controller_runtime.values import dataclass, field


@dataclass(slots=True)
class Tail:
    """A contiguous run of batches that ends at the log's end; empty only if everything is flushed."""

    bases: list[int] = field(default_factory=list)
    places: list[tuple[Segment, BatchHeader]] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, segment: Segment, place: BatchHeader, data: bytes) -> None:
        self.bases.append(place.base_offset)
        self.places.append((segment, place))
        self.data.append(data)
        self.size += len(data)

    def index_of(self, offset: int) -> int | None:
        """Which batch holds `offset`; None when it is older than the tail."""
        at = bisect_right(self.bases, offset) - 1
        return at if at >= 0 else None

    def read(self, at: int, max_bytes: int) -> bytes:
        """Batches of one segment, as a file would give: a Java follower appends what it is given at once, and only what
        fits into a segment.
        """
        end = at
        total = 0
        segment = self.places[at][0]
        while end < len(self.data) and (
            end == at or (total + len(self.data[end]) <= max_bytes and self.places[end][0] is segment)
        ):
            total += len(self.data[end])
            end += 1
        return b"".join(self.data[at:end])

    def cut(self, offset: int) -> None:
        """Drop batches that begin at `offset` or later."""
        at = bisect_left(self.bases, offset)
        self.size -= sum(map(len, self.data[at:]))
        del self.bases[at:], self.places[at:], self.data[at:]

    def evict(self, flushed: int, keep_bytes: int) -> None:
        """Let go of flushed batches while more than `keep_bytes` are held; the lists are cut in bulk."""
        count = 0
        while count < len(self.data) and self.size > keep_bytes and self.places[count][1].last_offset < flushed:
            self.size -= len(self.data[count])
            count += 1
        del self.bases[:count], self.places[:count], self.data[:count]
