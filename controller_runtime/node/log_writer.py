"""The active controller's pen: decisions become batches, several to one, and images by batch end.

A decision is replayed in memory at once and gets its offsets; its records wait for the next batch. A batch is made when nothing written before
is still uncommitted (so a lone request waits for nobody), when the batch is full, or when the linger ends: under load every
flush carries all that came meanwhile. Images of uncommitted batch ends are kept until committed, and all dropped with leadership.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.identifiers import Epoch, Instant, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.raft.messages import LogBatch

MAX_BATCH_BYTES: Final = 512 * 1024
LINGER_S: Final = 0.005
"""How long a decision waits for company at most, while earlier ones are on their way."""


class LogWriter:
    def __init__(
        self, epoch: Epoch, image: MetadataImage, end_offset: Offset, timestamp: int = -1, replayed_bytes: int = 0
    ) -> None:
        """Begin to write in `epoch` with the image of a log that ends, wholly committed, at `end_offset`."""
        self.epoch = epoch
        self.image = image
        """The newest image, uncommitted decisions included."""
        self.committed_image = image
        self.committed_offset = end_offset
        """Where `committed_image` ends."""
        self.committed_timestamp = timestamp
        """Of the newest committed batch, in ms."""
        self.committed_bytes = replayed_bytes
        """How much of the log is in it, counted on from what the feed had replayed."""
        self._next_offset = end_offset
        self._records: list[Record] = []
        self._size = 0
        self._linger_until: Instant | None = None
        self._done: list[LogBatch] = []
        self._images: deque[tuple[Offset, MetadataImage, int, int]] = deque()

    @property
    def next_offset(self) -> Offset:
        """The offset that the next record will get."""
        return self._next_offset

    @property
    def has_work(self) -> bool:
        return bool(self._records or self._done)

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

    def write(self, records: tuple[VersionedRecord, ...], now: Instant, wall: WallClock) -> Offset:
        """Replay and queue the records of one decision, together in one batch. Returns the offset after them."""
        builder = self.image.builder()
        values: list[bytes] = []
        for record, version in records:
            replay(builder, record)
            values.append(encode_record(record, version))
        if self._records and self._size + sum(map(len, values)) > MAX_BATCH_BYTES:
            self._close_batch()
        for value in values:
            self._records.append(Record(self._next_offset, wall, None, value))
            self._next_offset = Offset(self._next_offset + 1)
            self._size += len(value)
        self.image = builder.freeze()
        if self._linger_until is None:
            self._linger_until = Instant(now + LINGER_S)
        return self._next_offset

    def take_batches(self) -> list[LogBatch]:
        """Everything written so far, as batches to append now."""
        self._close_batch()
        done, self._done = self._done, []
        self._linger_until = None
        return done

    def _close_batch(self) -> None:
        """Records of one batch share one timestamp, as Kafka's do: later ones are stamped with the first one's."""
        if not self._records:
            return
        base, wall = self._records[0].offset, self._records[0].timestamp
        stamped = [record._replace(timestamp=wall) for record in self._records]
        data = encode_batch(stamped, base_offset=base, partition_leader_epoch=self.epoch)
        end = Offset(self._records[-1].offset + 1)
        self._done.append(LogBatch(Offset(base), end, self.epoch, data))
        self._images.append((end, self.image, wall, len(data)))
        self._records, self._size = [], 0

    def commit(self, committed: Offset) -> None:
        """Batches below `committed` are for ever; so is the image at their end."""
        while self._images and self._images[0][0] <= committed:
            _, self.committed_image, self.committed_timestamp, size = self._images.popleft()
            self.committed_bytes += size
        self.committed_offset = max(self.committed_offset, committed)
