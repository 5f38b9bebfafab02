"""The active controller's pen: decisions become batches, several to one, and images by batch end.

A decision is replayed in memory at once and gets its offsets; its records wait for the next batch. A batch is made when
nothing written before is still uncommitted (so a lone request waits for nobody), when the batch is full, or when the
linger ends: under load every flush carries all that came meanwhile. Images of uncommitted batch ends are kept until
committed, and all dropped with leadership. A decision that is replayed elsewhere, in pieces (`long_decision`), is made
on what `freeze` gives and comes with `write_replayed`. Each of these is done wholly or not at all: one that raises, as
`DecisionTooLarge` does, leaves offsets, batches and images as they were.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from controller_runtime.identifiers import Epoch, Instant, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node.quorum.election_counts import ElectionCounts
from controller_runtime.node.quorum.faults import UnreadableLog
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.record_batch import encode_values, encode_written
from controller_runtime.raft.messages import LogBatch

MAX_BATCH_BYTES: Final = 512 * 1024
"""Decisions that may lie in two batches do so beyond this, or beyond what one fetch or one segment takes."""
MAX_ATOMIC_BYTES: Final = 8 << 20
"""Kafka's limit of a batch of the metadata log: what has to lie in one and does not fit is refused."""
RECORD_OVERHEAD: Final = 16
BATCH_OVERHEAD: Final = 61
"""What a batch needs at most beside the values: lengths, deltas and flags of each record; and its header."""
LINGER_S: Final = 0.005
"""How long a decision waits for company at most, while earlier ones are on their way, unless configured."""


class DecisionTooLarge(Exception):
    """A decision that has to lie in one batch is larger than any batch may be. Nothing of it was done."""


def check_fits(count: int, size_bytes: int) -> None:
    """Raises DecisionTooLarge in Kafka's words: `count` records whose values have so many bytes."""
    size = size_bytes + RECORD_OVERHEAD * count + BATCH_OVERHEAD
    if size > MAX_ATOMIC_BYTES:
        raise DecisionTooLarge(
            f"The total record(s) size of {size} exceeds the maximum allowed batch size of {MAX_ATOMIC_BYTES}"
        )


_Mark = tuple[MetadataImage, list[bytes], int, int, Offset, Offset, WallClock, Instant | None, int, int]
"""Where the pen stood before a decision. The list of values only grows until it is replaced, so its length says enough.

A bare tuple: one is made for every decision, and read when one fails.
"""


class LogWriter:
    def __init__(
        self,
        epoch: Epoch,
        image: MetadataImage,
        end_offset: Offset,
        timestamp: int = -1,
        replayed_bytes: int = 0,
        linger_s: float = LINGER_S,
        elections: ElectionCounts | None = None,
        max_batch_bytes: int = MAX_BATCH_BYTES,
    ) -> None:
        """Begin to write in `epoch` with the image of a log that ends, wholly committed, at `end_offset`.

        `max_batch_bytes`: what a follower takes at once; batches are kept below it where a decision allows.
        """
        self.epoch = epoch
        self.committed_image = image
        self.committed_offset = end_offset
        """Where `committed_image` ends."""
        self.committed_timestamp = timestamp
        """Of the newest committed batch, in ms."""
        self.committed_bytes = replayed_bytes
        """How much of the log is in it, counted on from what the feed had replayed."""
        self._linger_s = linger_s
        self._max_batch_bytes = min(MAX_BATCH_BYTES, max_batch_bytes) - BATCH_OVERHEAD
        self._elections = elections or ElectionCounts()
        self._image = image
        """At the end of the last closed batch."""
        self._builder: MetadataBuilder | None = None
        """What the open batch made of it."""
        self._next_offset = end_offset
        self._base_offset = end_offset
        self._wall = WallClock(0)
        self._values: list[bytes] = []
        """The records of the open batch: one moment, consecutive offsets."""
        self._size = 0
        self._linger_until: Instant | None = None
        self._done: list[LogBatch] = []
        self._images: deque[tuple[Offset, MetadataImage, int, int]] = deque()

    @property
    def image(self) -> MetadataImage:
        """The newest image, uncommitted decisions included; to decide on, not to keep: it may change with the next
        `write`.
        """
        return self._image if self._builder is None else self._builder.peek()

    @property
    def next_offset(self) -> Offset:
        """The offset that the next record will get."""
        return self._next_offset

    @property
    def has_work(self) -> bool:
        return bool(self._values or self._done)

    @property
    def is_full(self) -> bool:
        """A whole batch is waiting."""
        return bool(self._done)

    @property
    def linger_until(self) -> Instant | None:
        return self._linger_until

    def skip_to(self, end_offset: Offset) -> None:
        """Consensus itself wrote control records; only when no decision waits for its batch."""
        assert not self.has_work, "decisions that have their offsets must be written first"
        self._next_offset = end_offset

    def write(
        self, records: tuple[VersionedRecord, ...], now: Instant, wall: WallClock, *, atomic: bool = True
    ) -> Offset:
        """Replay and queue the records of one decision; `atomic`: together in one batch. Returns the offset after them.

        Raises DecisionTooLarge.
        """
        mark = self._mark()
        try:
            values = [encode_record(record, version) for record, version in records]
            if atomic:
                size = sum(map(len, values))
                check_fits(len(values), size)
                if self._size + size + RECORD_OVERHEAD * len(values) > self._max_batch_bytes:
                    self._close_batch()
            for (record, _), value in zip(records, values, strict=True):
                if not atomic and self._size + len(value) + RECORD_OVERHEAD > self._max_batch_bytes:
                    self._close_batch()
                self._add(value, wall)
                if type(record) is PartitionChangeRecord:
                    self._elections.about_to_replay(self._open_builder(), record)
                replay(self._open_builder(), record)
        except BaseException:
            self._go_back(mark)
            raise
        if self._linger_until is None:
            self._linger_until = Instant(now + self._linger_s)
        return self._next_offset

    def freeze(self) -> MetadataImage:
        """The newest image, to decide on in pieces: it stays as it is, whatever is written."""
        self._close_batch()
        return self._image

    def write_replayed(
        self,
        written: bytes,
        count: int,
        base: MetadataImage,
        builder: MetadataBuilder,
        now: Instant,
        wall: WallClock,
    ) -> None:
        """Queue, as one batch, a decision whose `count` records were written and replayed elsewhere; `builder` is what
        they made of `base`, which `freeze` gave.
        """
        assert base is self._image, "something else was written since the decision began"
        assert not self._values, "something else was written since the decision began"
        mark = self._mark()
        try:
            end = Offset(self._next_offset + count)
            data = encode_written(written, count, self._next_offset, self.epoch, wall)
            self._add_batch(LogBatch(self._next_offset, end, self.epoch, data), builder.freeze(), wall)
            self._next_offset = end
        except BaseException:
            self._go_back(mark)
            raise
        self._linger_until = now

    def _mark(self) -> _Mark:
        return (
            self._image,
            self._values,
            len(self._values),
            self._size,
            self._base_offset,
            self._next_offset,
            self._wall,
            self._linger_until,
            len(self._done),
            len(self._images),
        )

    def _go_back(self, mark: _Mark) -> None:
        """A decision failed. What it left in the open image is not undone: the image is made anew from the records
        before it.
        """
        image, values, count, size, base, following, wall, linger_until, done, images = mark
        while len(self._images) > images:
            self._images.pop()
        del self._done[done:]
        del values[count:]
        self._image, self._values, self._size = image, values, size
        self._base_offset, self._next_offset, self._wall = base, following, wall
        self._linger_until = linger_until
        self._builder = self._image.builder() if self._values else None
        try:
            for value in self._values:
                replay(self._open_builder(), decode_record(value)[0])
        except Exception as error:
            raise UnreadableLog(f"what waits for its batch cannot be replayed again: {error}") from error

    def _add(self, value: bytes, wall: WallClock) -> None:
        if not self._values:
            self._base_offset, self._wall = self._next_offset, wall
        self._values.append(value)
        self._size += len(value) + RECORD_OVERHEAD
        self._next_offset = Offset(self._next_offset + 1)

    def _open_builder(self) -> MetadataBuilder:
        if self._builder is None:
            self._builder = self._image.builder()
        return self._builder

    def take_batches(self) -> list[LogBatch]:
        """Everything written so far, as batches to append now."""
        self._close_batch()
        done, self._done = self._done, []
        self._linger_until = None
        return done

    @contextmanager
    def handing_over(self) -> Iterator[list[LogBatch]]:
        """`take_batches`, unless what is done with them raises: then they were not taken."""
        batches = self.take_batches()
        try:
            yield batches
        except BaseException:
            self._done[:0] = batches
            raise

    def _close_batch(self) -> None:
        """Records of one batch share one timestamp, as Kafka's do: that of the first."""
        if not self._values:
            return
        assert self._builder is not None, "every record was replayed"
        mark = self._mark()
        try:
            data = encode_values(self._values, self._base_offset, self.epoch, self._wall)
            batch = LogBatch(self._base_offset, self._next_offset, self.epoch, data)
            self._add_batch(batch, self._builder.freeze(), self._wall)
            self._builder = None
        except BaseException:
            self._go_back(mark)
            raise
        self._values, self._size = [], 0

    def _add_batch(self, batch: LogBatch, image: MetadataImage, wall: WallClock) -> None:
        self._done.append(batch)
        self._image = image
        self._images.append((batch.end_offset, image, wall, len(batch.data)))

    def commit(self, committed: Offset) -> None:
        """Batches below `committed` are for ever; so is the image at their end."""
        while self._images and self._images[0][0] <= committed:
            _, self.committed_image, self.committed_timestamp, size = self._images.popleft()
            self.committed_bytes += size
        self.committed_offset = max(self.committed_offset, committed)
